/** Settings of the addresses that webhooks may have. */
export const webhookSettings = {
  WEBHOOK_ALLOW_HTTP: {
    type: 'boolean',
    default: false,
    description: 'accepts webhooks with plain http and port 80, for private installations and tests',
  },
  WEBHOOK_ALLOWED_CIDRS: {
    type: 'string',
    default: '',
    description: 'non-public networks, separated by commas, that webhooks may address',
  },
} as const;
