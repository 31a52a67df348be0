import { readEnv } from '@fleet/service-kit';
import { expect, it } from '@jest/globals';
import { thresholdSettings } from '../platform/thresholds.ts';
import { type RuleSettings, readRuleSettings, ruleSettings } from './rule-settings.ts';

const schema = { ...ruleSettings, ...thresholdSettings };

const defaults: RuleSettings = {
  movingFromKmh: 5,
  offlineAfterMs: 600_000,
  overspeedMs: 10_000,
  idlingMs: 300_000,
  fuelChange: 0.1,
  fuelChangeL: 8,
  fuelWindowMs: 300_000,
  lowBatteryPercent: 20,
  nightFromHour: 23,
  nightToHour: 5,
  foldMs: 30_000,
  rearmMs: 60_000,
};

it('rule settings have the default values, unless the environment sets others', () => {
  expect(readRuleSettings(readEnv(schema, {}))).toEqual(defaults);
  const former = readEnv(schema, { RULE_MOVING_KMH: '8', OFFLINE_AFTER_MS: '900000' });
  expect(readRuleSettings(former)).toMatchObject({ movingFromKmh: 8, offlineAfterMs: 900_000 });
  const changed = readEnv(schema, { RULE_FUEL_CHANGE_PERCENT: '25', RULE_NIGHT_FROM_HOUR: '22' });
  expect(readRuleSettings(changed)).toEqual({ ...defaults, fuelChange: 0.25, nightFromHour: 22 });
});
