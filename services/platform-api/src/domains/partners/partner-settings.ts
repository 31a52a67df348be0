/** Settings of the command channel to partners' servers (docs/reference/partners.md). */
export const partnerSettings = {
  PARTNER_AUTO_REGISTER: {
    type: 'boolean',
    default: false,
    description: 'records unknown devices that a partner reports as mining devices',
  },
  PARTNER_COMMAND_URL: {
    type: 'string',
    optional: true,
    pattern: '^https?://[^\\s]+$',
    description:
      "default server whose /api/device/sendInstruct commands partners' devices if the partner's record has none; without it those devices count as not connected",
  },
  PARTNER_COMMAND_TOKEN: { type: 'string', optional: true, secret: true, description: 'token for that server' },
  PARTNER_COMMAND_ALLOW_HTTP: {
    type: 'boolean',
    default: false,
    description: "allows plain http and port 80 for partners' servers, for private installations and tests",
  },
  PARTNER_COMMAND_ALLOWED_CIDRS: {
    type: 'string',
    default: '',
    description: "comma-separated networks in which partners' servers may be although they are not public",
  },
} as const;
