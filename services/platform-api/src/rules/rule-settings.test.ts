import { readEnv } from '@fleet/service-kit';
import { expect, it } from '@jest/globals';
import { defaultRuleSettings, ruleSettings, ruleSettingsOf } from './rule-settings.ts';

it('rule settings have the default values, unless the environment sets others', () => {
  expect(ruleSettingsOf(readEnv(ruleSettings, {}))).toEqual(defaultRuleSettings);
  const changed = readEnv(ruleSettings, { RULE_FUEL_CHANGE_PERCENT: '25', RULE_NIGHT_FROM_HOUR: '22' });
  expect(ruleSettingsOf(changed)).toEqual({ ...defaultRuleSettings, fuelChange: 0.25, nightFromHour: 22 });
});
