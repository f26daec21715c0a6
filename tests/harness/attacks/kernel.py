"""Attacks on the kernel's doors: calls that no answering system needs, devices, settings, other architectures."""

# ruff: noqa: PTH109, PTH110, PTH123, PTH208

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import socket
import stat
import struct
import tempfile
import termios
from pathlib import Path

from attack import TARGETS, attack, call, name_of

BPF, IO_URING_SETUP, KEYCTL, ADD_KEY, REQUEST_KEY, USERFAULTFD, PERF_EVENT_OPEN = 321, 425, 250, 248, 249, 323, 298
PERSONALITY, NAME_TO_HANDLE_AT, OPEN_BY_HANDLE_AT, SYSLOG, INIT_MODULE, FINIT_MODULE = 135, 303, 304, 103, 175, 313
FANOTIFY_INIT, IOPL, IOPERM, MODIFY_LDT, KEXEC_LOAD, ACCT, SWAPON, QUOTACTL = 300, 172, 173, 154, 246, 163, 167, 179


def _descriptor(result: int) -> str | None:
    if result < 0:
        return None
    os.close(result)
    return f"descriptor {result}"


@attack
def bpf() -> str | None:
    words = (ctypes.c_uint32 * 32)(2, 4, 4, 1)  # BPF_MAP_CREATE, an array of one
    return _descriptor(call(BPF, 0, ctypes.byref(words), 128))


@attack
def bpf_program() -> str | None:
    code = struct.pack("<BBhiBBhi", 0xB7, 0, 0, 0, 0x95, 0, 0, 0)
    place, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    words = struct.pack("<IIQQIIQII", 1, 2, ctypes.addressof(place), ctypes.addressof(licence), 0, 0, 0, 0, 0)
    return _descriptor(call(BPF, 5, ctypes.create_string_buffer(words, 128), 128))


@attack
def io_uring() -> str | None:
    return _descriptor(call(IO_URING_SETUP, 4, ctypes.create_string_buffer(120)))


@attack
def keys_of_the_kernel() -> str | None:
    result = call(KEYCTL, 0, -3, 1)  # KEYCTL_GET_KEYRING_ID of the session, made where there is none
    return f"keyring {result}" if result >= 0 else None


@attack
def add_a_key() -> str | None:
    result = call(ADD_KEY, b"user", b"attack", b"x", 1, -2)
    return f"key {result}" if result >= 0 else None


@attack
def request_a_key() -> str | None:
    result = call(REQUEST_KEY, b"user", b"attack-none", None, 0)
    return name_of(result) if result >= 0 or -result == getattr(errno, "ENOKEY", 126) else None


@attack
def userfaultfd() -> str | None:
    return _descriptor(call(USERFAULTFD, 0)) or _descriptor(call(USERFAULTFD, 1))


@attack
def perf_events() -> str | None:
    words = struct.pack("<IIQ", 1, 128, 0).ljust(40, b"\0") + struct.pack("<Q", 0x61)  # software clock, user only
    return _descriptor(call(PERF_EVENT_OPEN, ctypes.create_string_buffer(words, 128), 0, -1, -1, 0))


@attack
def another_personality() -> str | None:
    """Addresses without chance, and readable code pages: what an exploit wants first."""
    before = call(PERSONALITY, 0xFFFFFFFF)
    call(PERSONALITY, 0x0040000 | 0x0400000)
    after = call(PERSONALITY, 0xFFFFFFFF)
    return f"personality {after:#x}" if after >= 0 and after != before else None


@attack
def file_by_handle() -> str | None:
    """The way out of containers called Shocker: a file by its number, past every mount."""
    handle, mount = ctypes.create_string_buffer(struct.pack("<I", 128), 136), ctypes.c_int()
    secret = TARGETS["secret"].encode() if os.path.exists(TARGETS["secret"]) else os.getcwd().encode()
    if call(NAME_TO_HANDLE_AT, -100, secret, handle, ctypes.byref(mount), 0) < 0:
        return None
    place = os.open(os.getcwd(), os.O_RDONLY)
    return _descriptor(call(OPEN_BY_HANDLE_AT, place, handle, os.O_RDONLY))


def _key_into(terminal: int) -> bool:
    try:
        fcntl.ioctl(terminal, termios.TIOCSTI, b"#")
    except OSError:
        return False
    return True


@attack
def keys_typed_into_the_terminal() -> str | None:
    """Characters pushed into the caller's terminal are run by its shell."""
    for handle in (0, 1, 2):
        if _key_into(handle):
            return f"typed into descriptor {handle}"
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return None
    return "typed into /dev/tty" if _key_into(terminal) else None


@attack
def the_callers_terminal() -> str | None:
    """A terminal that is in reach can be written to, and read from."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return None
    return os.ttyname(terminal)


@attack
def calls_of_32_bits() -> str | None:
    """A filter that looks at numbers alone is passed by the other architecture's numbers."""
    try:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    return f"getpid gave {result}" if result > 0 else None


@attack
def calls_of_x32() -> str | None:
    result = call(0x40000000 | 39)
    return f"getpid gave {result}" if result > 0 else None


@attack
def kernel_log() -> str | None:
    buffer = ctypes.create_string_buffer(65_536)
    n = call(SYSLOG, 3, buffer, 65_536)
    return f"{n} bytes of the kernel's log" if n > 0 else None


@attack
def load_a_module() -> str | None:
    """Junk: EPERM is the only good answer."""
    results = call(INIT_MODULE, b"junk", 4, b""), call(FINIT_MODULE, -1, b"", 0)
    asked = [name_of(r) for r in results if -r in (errno.ENOEXEC, errno.EFAULT, errno.EBADF)]
    return " ".join(asked) or None


@attack
def watch_all_files() -> str | None:
    return _descriptor(call(FANOTIFY_INIT, 0, 0))


@attack
def ports_of_the_machine() -> str | None:
    return "ports" if call(IOPL, 3) == 0 or call(IOPERM, 0x80, 1, 1) == 0 else None


@attack
def boot_another_kernel() -> str | None:
    """No kernel is given, so nothing is loaded; an answer other than EPERM means that one might be."""
    result = call(KEXEC_LOAD, 0, 0, None, 0)
    return name_of(result) if result in (0, -errno.EBUSY) else None


@attack
def accounting_and_swap() -> str | None:
    results = call(ACCT, b"/no/such/file"), call(SWAPON, b"/no/such/file", 0)
    return " ".join(name_of(r) for r in results if r == -errno.ENOENT) or None


@attack
def another_host_name() -> str | None:
    try:
        socket.sethostname(socket.gethostname())
    except OSError:
        return None
    return "may name the machine"


@attack
def another_time() -> str | None:
    """Only the time zone that the kernel has already, so that nothing moves."""
    zone = struct.pack("ii", 0, 0)
    return "may set the clock" if call(164, None, ctypes.create_string_buffer(zone)) == 0 else None


def _writable(paths: list[str]) -> str | None:
    for path in paths:
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        return f"{path} is open for writing"
    return None


@attack
def kernel_settings() -> str | None:
    names = (
        "kernel/hostname",
        "kernel/domainname",
        "vm/overcommit_memory",
        "net/ipv4/ip_forward",
        "fs/file-max",
        "kernel/pid_max",
        "kernel/shmmax",
        "kernel/modprobe",
    )
    return _writable([f"/proc/sys/{name}" for name in names])


@attack
def core_pattern() -> str | None:
    return _writable(["/proc/sys/kernel/core_pattern"])


@attack
def switches_in_proc() -> str | None:
    """Opened, never written to."""
    return _writable(
        ["/proc/sysrq-trigger", "/proc/mtrr", "/proc/kcore", "/proc/sys/kernel/sysrq", "/proc/irq/default_smp_affinity"]
    )


@attack
def memory_of_the_kernel() -> str | None:
    for path in (
        "/proc/kcore",
        "/proc/kpagemap",
        "/dev/mem",
        "/dev/port",
        "/proc/kallsyms",
        "/proc/keys",
        "/proc/timer_list",
    ):
        try:
            with open(path, "rb", buffering=0) as stream:
                if (data := stream.read(64)) and not data.startswith(b"0000000000000000"):
                    return f"{path}: {data[:16].hex()}"
        except OSError:
            continue
    return None


_DEVICES = (
    "sda",
    "sda1",
    "vda",
    "nvme0n1",
    "dm-0",
    "loop0",
    "loop-control",
    "mapper/control",
    "zram0",
    "mem",
    "kmem",
    "kmsg",
    "port",
    "fuse",
    "kvm",
    "net/tun",
    "vhost-net",
    "vhost-vsock",
    "vsock",
    "userfaultfd",
    "autofs",
    "btrfs-control",
    "cpu_dma_latency",
    "hwrng",
    "input/event0",
    "snapshot",
    "ttyS0",
    "tty0",
    "tty1",
    "vcs",
    "vga_arbiter",
    "fb0",
    "dri/card0",
    "nvidiactl",
    "console",
    "rtc0",
    "hugepages",
    "mqueue",
    "bus/usb/001/001",
)


@attack
def devices() -> str | None:
    """Opened only to read, and not read."""
    for name in _DEVICES:
        try:
            handle = os.open(f"/dev/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            continue
        os.close(handle)
        return f"/dev/{name}"
    return None


@attack
def device_node_of_its_own() -> str | None:
    """A node for the first disk, /dev/kmsg or /dev/mem, made where we may write, and opened."""
    for kind, numbers in (
        (stat.S_IFCHR, (1, 11)),
        (stat.S_IFCHR, (1, 1)),
        (stat.S_IFBLK, (254, 0)),
        (stat.S_IFBLK, (8, 0)),
    ):
        path = Path(tempfile.mkdtemp(), "node")
        try:
            os.mknod(path, kind | 0o600, os.makedev(*numbers))
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        except OSError:
            continue
        finally:
            path.unlink(missing_ok=True)
            path.parent.rmdir()
        return f"device {numbers}"
    return None


@attack
def tree_of_the_kernel() -> str | None:
    """What /sys tells and lets one set."""
    for path in ("/sys/class/net", "/sys/kernel", "/sys/fs/cgroup", "/sys/block", "/sys/devices"):
        try:
            if names := os.listdir(path):
                return f"{path}: {len(names)} entries"
        except OSError:
            continue
    return None


@attack
def more_memory_by_control_groups() -> str | None:
    """Only asked whether we might write there."""
    for root in ("/sys/fs/cgroup", "/run/cgroup"):
        for folder in [root, *(f"{root}/{name}" for name in ("memory", "pids", "cpu", "unified"))]:
            if os.access(folder, os.W_OK):
                return f"{folder} is writable"
    return None
