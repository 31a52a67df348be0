import { describe, expect, it } from '@jest/globals';
import { defaultConfig, defaultPreferences } from '../domains/preferences/rules.ts';
import { isInQuietHours, type NotifyContext, shouldNotify } from './should-notify.ts';

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
    expect(isInQuietHours({ from, to }, zone, noonUtc)).toBe(quiet);
  });

  it('may begin at midnight', () => {
    expect(isInQuietHours({ from: '00:00', to: '05:00' }, 'UTC', Date.UTC(2026, 0, 31, 0, 0))).toBe(true);
  });
});

describe('shouldNotify', () => {
  const user = { language: 'en', timezone: 'UTC' };
  const notifyContext = (more: Partial<NotifyContext> = {}): NotifyContext => ({
    channel: 'push',
    type: 'overspeed',
    severity: 'warning',
    config: defaultConfig(),
    vehiclePreference: { notificationTypes: ['overspeed', 'sos'], channels: ['push'], isDefault: true },
    preferences: { values: defaultPreferences(user), explicit: {} },
    nowMs: noonUtc,
    ...more,
  });
  const withPreferences = (explicit: object) => {
    const values = defaultPreferences(user);
    return { values: { ...values, notifications: { ...values.notifications, ...explicit } }, explicit };
  };
  const sms = { ...defaultConfig().sms, enabled: true };

  it('sends push messages by default for selected types', () => {
    const config = defaultConfig();
    expect(shouldNotify(notifyContext())).toBe(true);
    expect(shouldNotify(notifyContext({ type: 'idling' }))).toBe(false);
    expect(shouldNotify(notifyContext({ config: { ...config, push: { ...config.push, enabled: false } } }))).toBe(
      false,
    );
    const others = { ...config, push: { ...config.push, notification_types: ['sos'] } };
    expect(shouldNotify(notifyContext({ config: others }))).toBe(false);
    expect(shouldNotify(notifyContext({ preferences: withPreferences({ push: false }) }))).toBe(false);
  });

  it('uses the channels of the vehicle, by default those of the user', () => {
    const config = { ...defaultConfig(), sms };
    const requested = notifyContext({ channel: 'sms', type: 'sos', config });
    const preference = { notificationTypes: ['sos'], channels: ['sms'] as const, isDefault: false };
    expect(shouldNotify(requested)).toBe(false);
    expect(shouldNotify({ ...requested, preferences: withPreferences({ sms: true }) })).toBe(true);
    expect(shouldNotify({ ...requested, vehiclePreference: preference })).toBe(true);
    expect(
      shouldNotify({ ...requested, vehiclePreference: preference, preferences: withPreferences({ sms: false }) }),
    ).toBe(false);
    expect(
      shouldNotify({
        ...requested,
        vehiclePreference: { ...preference, channels: ['push'] },
        preferences: withPreferences({ sms: true }),
      }),
    ).toBe(false);
  });

  it('is silent in quiet hours of the user and the account, except for critical types', () => {
    const quiet = { from: '11:00', to: '13:00' };
    const config = defaultConfig();
    const ofAccount = { ...config, push: { ...config.push, quiet_hours: quiet } };
    expect(shouldNotify(notifyContext({ preferences: withPreferences({ quiet_hours: quiet }) }))).toBe(false);
    expect(shouldNotify(notifyContext({ config: ofAccount }))).toBe(false);
    expect(shouldNotify(notifyContext({ config: ofAccount, severity: 'critical' }))).toBe(true);
    expect(shouldNotify(notifyContext({ config: ofAccount, nowMs: noonUtc + 2 * 3_600_000 }))).toBe(true);
  });
});
