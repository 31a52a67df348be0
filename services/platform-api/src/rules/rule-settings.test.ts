import { readEnv } from '@fleet/service-kit';
import { expect, it } from '@jest/globals';
import { thresholdSettings } from '../platform/thresholds.ts';
import { defaultRuleSettings, readRuleSettings, ruleSettings } from './rule-settings.ts';

const schema = { ...ruleSettings, ...thresholdSettings };

it('rule settings have the default values, unless the environment sets others', () => {
  expect(readRuleSettings(readEnv(schema, {}))).toEqual(defaultRuleSettings);
  const former = readEnv(schema, { RULE_MOVING_KMH: '8', OFFLINE_AFTER_MS: '900000' });
  expect(readRuleSettings(former)).toMatchObject({ movingFromKmh: 8, offlineAfterMs: 900_000 });
  const changed = readEnv(schema, { RULE_FUEL_CHANGE_PERCENT: '25', RULE_NIGHT_FROM_HOUR: '22' });
  expect(readRuleSettings(changed)).toEqual({ ...defaultRuleSettings, fuelChange: 0.25, nightFromHour: 22 });
});
