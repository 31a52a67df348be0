/** Settings of the command channel to partners' servers (docs/reference/partners.md). */
export const partnerSettings = {
  PARTNER_AUTO_REGISTER: {
    type: 'boolean',
    default: false,
    description: 'records devices that a partner reports and nobody knows as mining devices',
  },
  PARTNER_COMMAND_URL: {
    type: 'string',
    optional: true,
    pattern: '^https?://[^\\s]+$',
    description:
      "server whose /api/device/sendInstruct commands partners' devices, where the partner's record names none; without it those are not connected",
  },
  PARTNER_COMMAND_TOKEN: { type: 'string', optional: true, secret: true, description: 'token for that server' },
  PARTNER_COMMAND_ALLOW_HTTP: {
    type: 'boolean',
    default: false,
    description: "lets partners' servers be reached by plain http and on port 80, for private installations and tests",
  },
  PARTNER_COMMAND_ALLOWED_CIDRS: {
    type: 'string',
    default: '',
    description: "networks, separated by commas, that partners' servers may be in though they are not public",
  },
} as const;
