/** Settings of the HTTP providers of mails and SMS. */
export const providerSettings = {
  MAIL_URL: {
    type: 'string',
    optional: true,
    // The URL may contain a provider's key.
    secret: true,
    pattern: '^https?://[^\\s]+$',
    description: 'URL that receives mails as JSON {to, subject, text}; without it and without SMTP mails are logged',
  },
  MAIL_TOKEN: {
    type: 'string',
    optional: true,
    secret: true,
    pattern: '^[\\x21-\\x7e]+$',
    description: 'sent to that provider as Authorization: Bearer',
  },
  SMS_URL: {
    type: 'string',
    optional: true,
    // The URL may contain a provider's key.
    secret: true,
    pattern: '^https?://[^\\s]+$',
    description: 'URL that receives SMS as JSON {to, text}; without it SMS are logged',
  },
  SMS_TOKEN: {
    type: 'string',
    optional: true,
    secret: true,
    pattern: '^[\\x21-\\x7e]+$',
    description: 'sent to that provider as Authorization: Bearer',
  },
} as const;
