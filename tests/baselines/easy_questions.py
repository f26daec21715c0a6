"""Twenty easy school-science questions of our own, each with one sentence that holds the answer."""

from __future__ import annotations

from edu_rag.serve import SystemPage, SystemQuestion

# (question, choices, place of the right choice, sentence)
_EASY = (
    ("Which gas do plants take in to make sugar?", ("oxygen", "carbon dioxide", "helium", "nitrogen"), 1,
     "Plants take in carbon dioxide from the air and use it to make sugar."),
    ("What force pulls a dropped ball to the ground?", ("friction", "magnetism", "gravity", "tension"), 2,
     "Gravity is the force that pulls a dropped ball towards the ground."),
    ("Which planet is the largest of the solar system?", ("Mars", "Venus", "Earth", "Jupiter"), 3,
     "Jupiter is by far the largest planet of the solar system."),
    ("Which organ pumps blood through the body?", ("the heart", "the liver", "the stomach", "the lungs"), 0,
     "The heart is the organ that pumps blood through the body."),
    ("What do we call a change from liquid to gas?", ("freezing", "evaporation", "melting", "erosion"), 1,
     "The change from a liquid to a gas is called evaporation."),
    ("Which part of the cell makes most of its energy?", ("ribosome", "cell wall", "mitochondrion", "vacuole"), 2,
     "The mitochondrion makes most of the energy of the cell."),
    ("What kind of rock forms from cooled lava?", ("igneous", "sedimentary", "metamorphic", "coal"), 0,
     "Igneous rock forms when lava cools and becomes solid."),
    ("What is the closest star to Earth?", ("Sirius", "Polaris", "Vega", "the Sun"), 3,
     "The Sun is the star closest to Earth."),
    ("Which unit measures electric current?", ("volt", "ampere", "ohm", "watt"), 1,
     "Electric current is measured in amperes; one ampere is one coulomb a second."),
    ("Which blood cells fight germs?", ("red blood cells", "platelets", "white blood cells", "skin cells"), 2,
     "White blood cells fight germs that have entered the body."),
    ("What is the chemical symbol of gold?", ("Au", "Ag", "Fe", "Pb"), 0,
     "The chemical symbol of gold is Au, from its Latin name."),
    ("What do herbivores eat?", ("meat", "stones", "plants", "insects"), 2,
     "Herbivores are animals that eat only plants."),
    ("What causes the tides of the ocean?", ("wind", "the Moon", "volcanoes", "rain"), 1,
     "The tides of the ocean are caused mainly by the Moon."),
    ("Which layer of the Earth do we live on?", ("the core", "the mantle", "the crust", "the magma"), 2,
     "We live on the crust, the thin outer layer of the Earth."),
    ("What is the freezing point of water in degrees Celsius?", ("0", "32", "100", "50"), 0,
     "Water freezes at 0 degrees Celsius."),
    ("Which animal is a mammal?", ("a trout", "a frog", "a snake", "a whale"), 3,
     "A whale is a mammal: it breathes air and feeds its young with milk."),
    ("Which gas makes up most of the air?", ("oxygen", "nitrogen", "argon", "hydrogen"), 1,
     "Nitrogen makes up 78 percent of the air."),
    ("What carries the instructions for an organism's traits?", ("DNA", "starch", "water", "fat"), 0,
     "DNA carries the instructions for the traits of an organism."),
    ("Which wave needs matter to travel through?", ("light", "X-ray", "radio", "sound"), 3,
     "Sound is a wave that needs matter to travel through."),
    ("What does a thermometer measure?", ("mass", "length", "temperature", "speed"), 2,
     "A thermometer is used to measure temperature."),
)  # fmt: skip


def page_of(text: str, *sentences: str) -> SystemPage:
    """A page whose sentences are found in its text."""
    spans = tuple((text.index(sentence), text.index(sentence) + len(sentence)) for sentence in sentences or (text,))
    return SystemPage(page_id="p" + "0" * 16, url="https://x.example/", title="", text=text, sentences=spans)


def easy_questions() -> list[tuple[SystemQuestion, str]]:
    """Each question with its page, and its right label."""
    found = []
    for number, (text, choices, right, sentence) in enumerate(_EASY):
        labels = dict(zip("abcd", choices, strict=True))
        question = SystemQuestion(
            id=str(number), text=text, choices=labels, kind="multiple_choice", pages=(page_of(sentence),)
        )
        found.append((question, "abcd"[right]))
    return found
