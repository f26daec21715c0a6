"""Topics of the generated training questions: school science in ten fields, a list that we wrote.

Each topic is a noun phrase and its kind, which replaces it in a vague question ("this process").
No question of a benchmark was read to write it.
"""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """A thing to ask about, and its kind."""

    name: str
    kind: str


def _topics(kind: str, names: str) -> list[Topic]:
    return [Topic(name.strip(), kind) for name in names.split(",")]


FIELDS: dict[str, list[Topic]] = {
    "cells": [
        *_topics("part", "the cell wall, the nucleus, mitochondria, ribosomes, the cell membrane, chloroplasts"),
        *_topics("process", "mitosis, meiosis, osmosis, active transport, fermentation, protein synthesis"),
    ],
    "plants": [
        *_topics("part", "roots, leaves, the stem, stomata, pollen, xylem"),
        *_topics("process", "photosynthesis, transpiration, pollination, germination, seed dispersal, phototropism"),
    ],
    "the human body": [
        *_topics("organ", "the heart, the lungs, the liver, the kidneys, the skin, the small intestine"),
        *_topics("process", "digestion, breathing, blood clotting, the immune response, sweating, hearing"),
    ],
    "ecosystems": [
        *_topics("group", "producers, decomposers, predators, herbivores, parasites, invasive species"),
        *_topics("process", "the carbon cycle, the nitrogen cycle, succession, competition, migration, eutrophication"),
    ],
    "the weather": [
        *_topics("event", "a thunderstorm, a tornado, a hurricane, fog, a cold front, hail"),
        *_topics("quantity", "air pressure, humidity, wind speed, temperature, cloud cover, rainfall"),
    ],
    "rocks and the earth": [
        *_topics("material", "granite, limestone, basalt, marble, coal, soil"),
        *_topics("process", "erosion, weathering, subduction, an earthquake, a volcanic eruption, sedimentation"),
    ],
    "space": [
        *_topics("body", "the sun, the moon, Mars, Jupiter, a comet, an asteroid"),
        *_topics("event", "a solar eclipse, a lunar eclipse, the seasons, the tides, a supernova, a meteor shower"),
    ],
    "matter": [
        *_topics("substance", "water, carbon dioxide, salt, iron, oxygen, an alloy"),
        *_topics("process", "melting, evaporation, condensation, combustion, rusting, diffusion"),
    ],
    "forces and motion": [
        *_topics("quantity", "speed, acceleration, momentum, mass, weight, pressure"),
        *_topics("force", "friction, gravity, buoyancy, magnetism, tension, air resistance"),
    ],
    "energy and waves": [
        *_topics("form of energy", "heat, light, sound, kinetic energy, nuclear energy, electricity"),
        *_topics("effect", "reflection, refraction, conduction, convection, radiation, resonance"),
    ],
}
"""Field -> its topics. Topics of one question come from one field."""
