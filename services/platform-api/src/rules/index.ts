import type { Rule } from './rule.ts';

/** All rules, in the order in which a report passes them. */
export const rules: readonly Rule[] = [];
