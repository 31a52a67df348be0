const count = { type: 'integer', minimum: 1, maximum: 1_000_000 } as const;

/** Settings of the rate limits. */
export const rateLimitSettings = {
  RATE_LIMIT_PLATFORM_PER_MINUTE: { ...count, default: 600, description: 'requests of an API key' },
  RATE_LIMIT_PLATFORM_BURST: { ...count, default: 100, description: 'burst of requests of an API key' },
  RATE_LIMIT_DASHBOARD_PER_MINUTE: { ...count, default: 600, description: 'requests of a user of the dashboard' },
  RATE_LIMIT_DASHBOARD_BURST: { ...count, default: 200, description: 'burst of requests of a user of the dashboard' },
  RATE_LIMIT_LOGIN_PER_MINUTE: {
    ...count,
    default: 20,
    description: 'log-ins of an IP address, and with an identifier',
  },
  RATE_LIMIT_REFRESH_PER_MINUTE: { ...count, default: 300, description: 'refreshes of sessions from an IP address' },
  RATE_LIMIT_CODES_PER_HOUR: { ...count, default: 5, description: 'one-time codes sent to a phone' },
  RATE_LIMIT_GEOCODE_PER_MINUTE: {
    ...count,
    default: 120,
    description: 'geocode, reverse, suggest, route and snap of an API key together',
  },
  RATE_LIMIT_EXTRACTION_PER_MINUTE: { ...count, default: 10, description: 'documents extracted for a user' },
  RATE_LIMIT_USER_SEARCH_PER_MINUTE: { ...count, default: 10, description: 'user searches for sharing by a user' },
  RATE_LIMIT_DEVICE_LOOKUP_PER_MINUTE: {
    ...count,
    default: 10,
    description: 'look-ups of a terminal without a vehicle by a user',
  },
  RATE_LIMIT_SHARE_LINK_PER_MINUTE: { ...count, default: 60, description: 'share links opened by an IP address' },
  RATE_LIMIT_PARTNER_PER_SECOND: { ...count, default: 100, description: 'requests of a partner token' },
  RATE_LIMIT_TEST_MAIL_PER_HOUR: { ...count, default: 10, description: 'test mails of an account' },
  RATE_LIMIT_WEBHOOK_TEST_PER_MINUTE: { ...count, default: 10, description: 'tests and manual retries of a webhook' },
  RATE_LIMIT_CAPTURE_PER_MINUTE: { ...count, default: 6, description: 'media captures of a vehicle' },
  RATE_LIMIT_COMMANDS_PER_MINUTE: { ...count, default: 120, description: 'commands per device, as in device-api' },
  RATE_LIMIT_COMMANDS_BURST: { ...count, default: 60, description: 'burst of commands per device' },
} as const;
