/** Settings of the webhooks of SMS and voice providers. */
export const messagingSettings = {
  CHAT_GENERIC_SECRET: {
    type: 'string',
    optional: true,
    secret: true,
    minLength: 16,
    description: 'verifies requests of the SMS and voice provider `generic`; without it they are rejected with 401',
  },
  TWILIO_AUTH_TOKEN: { type: 'string', optional: true, secret: true, description: 'verifies requests of Twilio' },
  PLIVO_AUTH_TOKEN: { type: 'string', optional: true, secret: true, description: 'verifies requests of Plivo' },
  VONAGE_SIGNATURE_SECRET: { type: 'string', optional: true, secret: true, description: 'verifies requests of Vonage' },
  VAPI_SECRET: { type: 'string', optional: true, secret: true, description: 'verifies requests of Vapi' },
  SMS_COMMANDS: {
    type: 'boolean',
    default: false,
    description: "responds to the SMS `WHERE <vehicle number>` and `STATUS <vehicle number>` from users' own phones",
  },
} as const;
