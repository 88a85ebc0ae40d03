"""Define every diagnostic code of schemas and migrations.

``S…`` codes report an inconsistent schema, ``OG-…`` codes the risk of a migration step. Codes are
append-only: users match on them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MEANINGS", "MigrationCode", "SchemaCode"]


class SchemaCode(StrEnum):
    """Errors and warnings of a schema that parses."""

    # Names.
    DUPLICATE_TYPE = "S101"
    DUPLICATE_PROPERTY = "S102"
    RESERVED_PROPERTY = "S103"
    RESERVED_TYPE = "S104"
    TOO_LARGE = "S105"
    # References between types.
    UNKNOWN_INTERFACE = "S201"
    NOT_AN_INTERFACE = "S202"
    INTERFACE_CONFLICT = "S203"
    UNKNOWN_ENDPOINT = "S204"
    ENDPOINT_NOT_NODE = "S205"
    # Keys, uniques and indexes.
    UNKNOWN_MEMBER = "S301"
    REPEATED_MEMBER = "S302"
    MEMBER_TYPE = "S303"
    EDGE_KEY = "S304"
    NULLABLE_KEY = "S305"
    SEVERAL_KEYS = "S306"
    REPEATED_CONSTRAINT = "S307"
    # Ranges, checks and cardinality.
    RANGE_TYPE = "S311"
    RANGE_BOUND = "S312"
    EMPTY_RANGE = "S313"
    SEVERAL_RANGES = "S314"
    CHECK_TYPE = "S315"
    CHECK_PATTERN = "S316"
    EMPTY_CARDINALITY = "S317"
    # Annotations.
    ANNOTATION_PLACE = "S401"
    REPEATED_ANNOTATION = "S402"
    ANNOTATION_ARGUMENTS = "S403"
    EMBED_SOURCE = "S404"
    DEFAULT_TYPE = "S405"
    DEFAULT_VALUE = "S406"
    DEFAULT_BREAKS_RULE = "S407"
    # Renames.
    RENAME_OF_LIVING = "S501"
    RENAME_CLAIMED_TWICE = "S502"
    RENAME_ONTO_KNOWN = "S503"
    RENAME_OF_NOTHING = "S504"
    # Warnings.
    PROBABLE_MISSPELLING = "S901"


class MigrationCode(StrEnum):
    """Risks of a migration step.

    DS loses data, MF may fail on the data, CD drops a guarantee, ID changes identities, ED changes
    the shape of the graph, VE concerns vectors.
    """

    DROP_NODE_TYPE = "OG-DS-102"
    DROP_EDGE_TYPE = "OG-DS-103"
    DROP_PROPERTY = "OG-DS-104"
    DROP_VECTOR_PROPERTY = "OG-DS-105"
    REQUIRED_WITHOUT_DEFAULT = "OG-MF-103"
    TIGHTEN_NULLABILITY = "OG-MF-104"
    CHANGE_TYPE = "OG-MF-106"
    ADD_UNIQUE = "OG-MF-107"
    TIGHTEN_RANGE = "OG-MF-108"
    ADD_CHECK = "OG-MF-109"
    TIGHTEN_CARDINALITY = "OG-MF-110"
    DROP_GUARANTEE = "OG-CD-101"
    CHANGE_KEY = "OG-ID-101"
    CHANGE_ENDPOINTS = "OG-ED-101"
    CHANGE_DIMENSION = "OG-VE-101"
    STALE_EMBEDDING = "OG-VE-102"
    CHANGE_MODEL = "OG-VE-103"


MEANINGS: Mapping[str, str] = {
    SchemaCode.DUPLICATE_TYPE: "two types have the same name, ignoring case",
    SchemaCode.DUPLICATE_PROPERTY: "two properties of a type have the same name, ignoring case",
    SchemaCode.RESERVED_PROPERTY: "the property name is reserved",
    SchemaCode.RESERVED_TYPE: "the type name is a built-in type",
    SchemaCode.TOO_LARGE: "the schema has more types, properties or constraints than allowed",
    SchemaCode.UNKNOWN_INTERFACE: "a node implements an interface that does not exist",
    SchemaCode.NOT_AN_INTERFACE: "a node implements a node, an edge, or an interface twice",
    SchemaCode.INTERFACE_CONFLICT: "a property differs from its declaration in an interface",
    SchemaCode.UNKNOWN_ENDPOINT: "an edge starts or ends at a type that does not exist",
    SchemaCode.ENDPOINT_NOT_NODE: "an edge starts or ends at something that is not a node type",
    SchemaCode.UNKNOWN_MEMBER: "a constraint names a property that the type does not have",
    SchemaCode.REPEATED_MEMBER: "a constraint names a property twice",
    SchemaCode.MEMBER_TYPE: "a constraint does not apply to the type of its property",
    SchemaCode.EDGE_KEY: "the key of an edge does not name both endpoints",
    SchemaCode.NULLABLE_KEY: "a property of the key is optional",
    SchemaCode.SEVERAL_KEYS: "a type has more than one key",
    SchemaCode.REPEATED_CONSTRAINT: "a type declares a constraint twice",
    SchemaCode.RANGE_TYPE: "@range on a property that is not a number",
    SchemaCode.RANGE_BOUND: "a bound of @range is not a value of the property's type",
    SchemaCode.EMPTY_RANGE: "@range that no value is in",
    SchemaCode.SEVERAL_RANGES: "two ranges for one property",
    SchemaCode.CHECK_TYPE: "@check on a property that is not a String",
    SchemaCode.CHECK_PATTERN: "@check with a pattern that is not portable between the engines",
    SchemaCode.EMPTY_CARDINALITY: "@card that no number of edges satisfies",
    SchemaCode.ANNOTATION_PLACE: "an annotation is not allowed in this position",
    SchemaCode.REPEATED_ANNOTATION: "an annotation is repeated",
    SchemaCode.ANNOTATION_ARGUMENTS: "an annotation has the wrong arguments",
    SchemaCode.EMBED_SOURCE: "@embed does not name a String property of the same type",
    SchemaCode.DEFAULT_TYPE: "@default on a type that cannot have one",
    SchemaCode.DEFAULT_VALUE: "the value of @default is not a value of the property's type",
    SchemaCode.DEFAULT_BREAKS_RULE: "the value of @default violates @range or @check",
    SchemaCode.RENAME_OF_LIVING: "@rename_from names a type or property that the schema still has",
    SchemaCode.RENAME_CLAIMED_TWICE: "two declarations claim the same old name",
    SchemaCode.RENAME_ONTO_KNOWN: "the accepted schema has both the old and the new name",
    SchemaCode.RENAME_OF_NOTHING: "the old name does not exist, and another one is dropped",
    SchemaCode.PROBABLE_MISSPELLING: "an unknown annotation resembles a known one",
    MigrationCode.DROP_NODE_TYPE: "drops a node type with its entities",
    MigrationCode.DROP_EDGE_TYPE: "drops an edge type with its entities",
    MigrationCode.DROP_PROPERTY: "drops a property with its values",
    MigrationCode.DROP_VECTOR_PROPERTY: "drops a vector property with its embeddings",
    MigrationCode.REQUIRED_WITHOUT_DEFAULT: "adds a required property without a default",
    MigrationCode.TIGHTEN_NULLABILITY: "makes an optional property required",
    MigrationCode.CHANGE_TYPE: "changes a type so that existing values may not fit",
    MigrationCode.ADD_UNIQUE: "adds a unique constraint",
    MigrationCode.TIGHTEN_RANGE: "adds or narrows a range",
    MigrationCode.ADD_CHECK: "adds a pattern",
    MigrationCode.TIGHTEN_CARDINALITY: "restricts the number of edges per node",
    MigrationCode.DROP_GUARANTEE: "drops a constraint that readers may rely on",
    MigrationCode.CHANGE_KEY: "changes the key, and thereby the ids",
    MigrationCode.CHANGE_ENDPOINTS: "changes the endpoints of an edge type",
    MigrationCode.CHANGE_DIMENSION: "changes the length of vectors",
    MigrationCode.CHANGE_MODEL: "changes the model of stored embeddings",
    MigrationCode.STALE_EMBEDDING: "changes how embeddings are computed; stored ones become stale",
}
