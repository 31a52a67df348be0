import { terminalAlarms } from './alarms/terminal-alarms.ts';
import type { Rule } from './rule.ts';

export { currentAlarms } from './alarms/current-alarms.ts';

/** All rules, in the order in which a report passes them. */
export const rules: readonly Rule[] = [terminalAlarms];
