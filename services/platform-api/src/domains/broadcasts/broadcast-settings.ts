/** Settings of broadcasts to drivers. */
export const broadcastSettings = {
  TTS_URL: {
    type: 'string',
    optional: true,
    // The URL may contain a provider's key.
    secret: true,
    pattern: '^https?://[^\\s]+$',
    description: 'URL that receives the text of broadcasts as JSON {text, language} and returns an audio file',
  },
  TTS_TOKEN: {
    type: 'string',
    optional: true,
    secret: true,
    pattern: '^[\\x21-\\x7e]+$',
    description: 'sent to that provider as Authorization: Bearer',
  },
  TTS_TIMEOUT_MS: {
    type: 'integer',
    minimum: 1,
    maximum: 60_000,
    default: 15_000,
    description: 'time-out of that provider',
  },
} as const;
