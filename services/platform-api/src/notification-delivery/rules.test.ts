import { describe, expect, it } from '@jest/globals';
import { defaultConfig, defaultPreferences } from '../domains/preferences/rules.ts';
import { isQuiet, type Question, shouldNotify } from './rules.ts';

const noonUtc = Date.UTC(2026, 0, 31, 12, 0);

describe('quiet hours', () => {
  it.each([
    ['22:00', '06:00', 'UTC', false],
    ['11:59', '12:01', 'UTC', true],
    ['12:00', '13:00', 'UTC', true],
    ['11:00', '12:00', 'UTC', false],
    ['12:00', '12:00', 'UTC', false],
    // 17:30 in Kolkata, 01:00 of the next day in Auckland.
    ['17:00', '18:00', 'Asia/Kolkata', true],
    ['22:00', '06:00', 'Pacific/Auckland', true],
    ['22:00', '00:30', 'Pacific/Auckland', false],
  ])('from %s to %s in %s: %s', (from, to, zone, quiet) => {
    expect(isQuiet({ from, to }, zone, noonUtc)).toBe(quiet);
  });

  it('may begin at midnight', () => {
    expect(isQuiet({ from: '00:00', to: '05:00' }, 'UTC', Date.UTC(2026, 0, 31, 0, 0))).toBe(true);
  });
});

describe('shouldNotify', () => {
  const user = { language: 'en', timezone: 'UTC' };
  const question = (more: Partial<Question> = {}): Question => ({
    channel: 'push',
    type: 'overspeed',
    severity: 'warning',
    config: defaultConfig(),
    vehiclePreference: { notificationTypes: ['overspeed', 'sos'], channels: ['push'], isDefault: true },
    preferences: { values: defaultPreferences(user), said: {} },
    nowMs: noonUtc,
    ...more,
  });
  const saying = (said: object) => {
    const values = defaultPreferences(user);
    return { values: { ...values, notifications: { ...values.notifications, ...said } }, said };
  };
  const sms = { ...defaultConfig().sms, enabled: true };

  it('sends push messages by default for selected types', () => {
    const config = defaultConfig();
    expect(shouldNotify(question())).toBe(true);
    expect(shouldNotify(question({ type: 'idling' }))).toBe(false);
    expect(shouldNotify(question({ config: { ...config, push: { ...config.push, enabled: false } } }))).toBe(false);
    const others = { ...config, push: { ...config.push, notification_types: ['sos'] } };
    expect(shouldNotify(question({ config: others }))).toBe(false);
    expect(shouldNotify(question({ preferences: saying({ push: false }) }))).toBe(false);
  });

  it('uses the channels of the vehicle, by default those of the user', () => {
    const config = { ...defaultConfig(), sms };
    const requested = question({ channel: 'sms', type: 'sos', config });
    const preference = { notificationTypes: ['sos'], channels: ['sms'] as const, isDefault: false };
    expect(shouldNotify(requested)).toBe(false);
    expect(shouldNotify({ ...requested, preferences: saying({ sms: true }) })).toBe(true);
    expect(shouldNotify({ ...requested, vehiclePreference: preference })).toBe(true);
    expect(shouldNotify({ ...requested, vehiclePreference: preference, preferences: saying({ sms: false }) })).toBe(
      false,
    );
    expect(
      shouldNotify({
        ...requested,
        vehiclePreference: { ...preference, channels: ['push'] },
        preferences: saying({ sms: true }),
      }),
    ).toBe(false);
  });

  it('is silent in quiet hours of the user and the account, except for critical types', () => {
    const quiet = { from: '11:00', to: '13:00' };
    const config = defaultConfig();
    const ofAccount = { ...config, push: { ...config.push, quiet_hours: quiet } };
    expect(shouldNotify(question({ preferences: saying({ quiet_hours: quiet }) }))).toBe(false);
    expect(shouldNotify(question({ config: ofAccount }))).toBe(false);
    expect(shouldNotify(question({ config: ofAccount, severity: 'critical' }))).toBe(true);
    expect(shouldNotify(question({ config: ofAccount, nowMs: noonUtc + 2 * 3_600_000 }))).toBe(true);
  });
});
