"""The rules that a query must keep, one module each.

A module holds the rule's code and meaning, and functions that build its diagnostics: those called
``check…`` test an operand or a node and return None if it keeps the rule; the others describe a
violation that their caller has found. ``RULES`` lists all. Modules by subject:

- ``rule``, ``suggestion``: the class of the rules, and remedies that they share.
- ``node_type``, ``edge_type``, ``edge_endpoint``, ``edge_variable``, ``binding_property``,
  ``pattern_variable``, ``variable_type``, ``reference``: patterns and variables.
- ``hop_bounds``, ``undirected``, ``ambiguous_direction``: traversals.
- ``literal_value``, ``list_items``, ``comparison``, ``condition``, ``nesting``, ``blob_value``,
  ``shadowed_parameter``, ``function_argument``, ``constant_argument``, ``common_type``,
  ``item_variable``: expressions.
- ``search_operands``, ``token_search``, ``text_ranking``, ``vector_search``, ``nearest_limit``,
  ``rank_fusion``: search.
- ``aggregate_operand``, ``aggregate_place``, ``alias``, ``repeated_column``, ``order_key``,
  ``order_projection``, ``row_count``, ``mixed_aggregate``,
  ``value_variable``, ``stage_column``, ``union_columns``: results and stages.
- ``mutation_type``, ``mutation_property``, ``mutation_variable``, ``mutation_expression``,
  ``required_value``, ``repeated_assignment``, ``empty_update``, ``endpoint_update``,
  ``key_update``, ``keyed_replace``: mutations.
"""

from __future__ import annotations

from omnigraph.compiler.rules import (
    aggregate_operand,
    aggregate_place,
    alias,
    ambiguous_direction,
    binding_property,
    blob_value,
    common_type,
    comparison,
    condition,
    constant_argument,
    edge_endpoint,
    edge_type,
    edge_variable,
    empty_update,
    endpoint_update,
    function_argument,
    hop_bounds,
    item_variable,
    key_update,
    keyed_replace,
    list_items,
    literal_value,
    mixed_aggregate,
    mutation_expression,
    mutation_property,
    mutation_type,
    mutation_variable,
    nearest_limit,
    nesting,
    node_type,
    order_key,
    order_projection,
    pattern_variable,
    rank_fusion,
    reference,
    repeated_assignment,
    repeated_column,
    required_value,
    row_count,
    shadowed_parameter,
    stage_column,
    text_ranking,
    token_search,
    undirected,
    union_columns,
    value_variable,
    variable_type,
    vector_search,
)
from omnigraph.compiler.rules.rule import Rule

__all__ = ["RULES", "Rule"]

RULES: tuple[Rule, ...] = (
    node_type.RULE,
    binding_property.RULE,
    literal_value.RULE,
    edge_type.RULE,
    edge_endpoint.RULE,
    reference.RULE,
    comparison.RULE,
    aggregate_operand.RULE,
    mutation_type.RULE,
    mutation_property.RULE,
    required_value.RULE,
    repeated_assignment.RULE,
    mutation_variable.RULE,
    hop_bounds.RULE,
    endpoint_update.RULE,
    nearest_limit.RULE,
    token_search.RULE,
    text_ranking.RULE,
    rank_fusion.RULE,
    undirected.RULE,
    edge_variable.RULE,
    blob_value.RULE,
    vector_search.RULE,
    variable_type.RULE,
    shadowed_parameter.RULE,
    repeated_column.RULE,
    alias.RULE,
    aggregate_place.RULE,
    order_projection.RULE,
    order_key.RULE,
    row_count.RULE,
    condition.RULE,
    key_update.RULE,
    mutation_expression.RULE,
    list_items.RULE,
    pattern_variable.RULE,
    nesting.RULE,
    empty_update.RULE,
    ambiguous_direction.RULE,
    keyed_replace.RULE,
    function_argument.RULE,
    constant_argument.RULE,
    common_type.RULE,
    mixed_aggregate.RULE,
    item_variable.RULE,
    value_variable.RULE,
    stage_column.RULE,
    union_columns.RULE,
)
