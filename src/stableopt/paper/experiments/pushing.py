"""A robot's hand pushes an object over a table: the deterministic simulation of the paper's robot experiment, in Box2D.

The input is where the hand starts (rx, ry) and how long it pushes (rt); the output is where the object ends. The
constants are those of the simulation that the paper uses (Wang and Jegelka 2017, max-value entropy search), without its
noise. Box2D computes in single precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stableopt.base.arrays import Array

LOWER, UPPER = np.array([-5.0, -5.0, 1.0]), np.array([5.0, 5.0, 30.0])
"""Bounds of (rx, ry, rt)."""

_STEP, _ITERATIONS = 0.01, 10
_FREE_STEPS = 100
_SPEED = 5.0
_GAIN = 30.0  # of the hand's controllers, times its mass


def push(rx: float, ry: float, rt: float) -> tuple[float, float]:
    """Where the object, which starts at the origin, comes to rest."""
    world, thing, hand = _scene(rx, ry)
    distance = math.hypot(rx, ry)
    # Towards the object; a hand that starts exactly on it has no direction.
    toward = (-rx / distance * _SPEED, -ry / distance * _SPEED) if distance > 0 else (0.0, 0.0)
    mass = hand.mass
    for _ in range(int(10 * rt)):
        velocity = hand.linearVelocity
        hand.ApplyTorque(-mass * hand.angularVelocity * _GAIN, True)
        force = (mass * (toward[0] - velocity[0]) * _GAIN, mass * (toward[1] - velocity[1]) * _GAIN)
        hand.ApplyForce(force, hand.position, True)
        world.Step(_STEP, _ITERATIONS, _ITERATIONS)
    for _ in range(_FREE_STEPS):
        world.Step(_STEP, _ITERATIONS, _ITERATIONS)
    return float(thing.position[0]), float(thing.position[1])


def _scene(rx: float, ry: float) -> tuple[Any, Any, Any]:
    """The world, the object and the hand; friction with the table is a joint to it."""
    import Box2D

    world = Box2D.b2World(gravity=(0.0, 0.0), doSleep=True)
    table = world.CreateStaticBody(position=(0.0, 0.0), shapes=Box2D.b2PolygonShape(box=(500.0, 500.0)))
    disc = Box2D.b2FixtureDef(shape=Box2D.b2CircleShape(pos=(0.0, 0.0), radius=1.0), density=0.05, friction=0.01)
    thing = world.CreateDynamicBody(position=(0.0, 0.0), fixtures=disc)
    angle = math.atan(ry / rx) if rx != 0 else math.pi / 2
    palm = Box2D.b2FixtureDef(shape=Box2D.b2PolygonShape(box=(0.3, 1.0)), density=0.1, friction=0.1)
    hand = world.CreateDynamicBody(position=(rx, ry), angle=angle, fixtures=palm)
    for body, force in ((thing, 5.0), (hand, 2.0)):
        world.CreateFrictionJoint(bodyA=table, bodyB=body, anchor=body.worldCenter, maxForce=force, maxTorque=2.0)
    return world, thing, hand


def goals(rng: np.random.Generator) -> Array:
    """Two targets (2, 2): one uniform over [−5, 5]², the other uniform over the l1 ball of radius 2 around it."""
    first = rng.uniform(-5.0, 5.0, 2)
    a, b = rng.uniform(-1.0, 1.0, 2)
    # The square |a|, |b| <= 1, turned by 45 degrees and stretched by the square root of 2, is the l1 ball of radius 2.
    return np.array([first, first + np.array([a + b, a - b])])
