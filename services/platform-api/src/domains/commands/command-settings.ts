/** Settings of the command queue. */
export const commandSettings = {
  COMMAND_POLL_MS: {
    type: 'integer',
    minimum: 10,
    maximum: 60_000,
    default: 2_000,
    description: 'how often the command queue checks for terminals that have connected',
  },
  COMMAND_REPLY_TIMEOUT_MS: {
    type: 'integer',
    minimum: 100,
    maximum: 110_000,
    default: 90_000,
    description: 'how long a queued command waits for the response of its terminal',
  },
} as const;
