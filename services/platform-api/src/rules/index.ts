import { terminalAlarms } from './alarms/terminal-alarms.ts';
import { geofenceRule } from './areas/geofence-rule.ts';
import { overspeedRule } from './areas/overspeed-rule.ts';
import { motionRules } from './motion/index.ts';
import { routeRule } from './route-deviation/route-rule.ts';
import type { Rule } from './rule.ts';

export { currentAlarms } from './alarms/current-alarms.ts';

/** All rules in order of evaluation. */
export const rules: readonly Rule[] = [terminalAlarms, geofenceRule, overspeedRule, routeRule, ...motionRules];
