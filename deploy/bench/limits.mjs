/** Rate limits that no benchmark reaches; the limiter itself is tested with its defaults. */
export const raisedLimits = {
  RATE_LIMIT_READS_PER_SECOND: '1000000',
  RATE_LIMIT_READS_BURST: '1000000',
  RATE_LIMIT_COMMANDS_PER_MINUTE: '1000000',
  RATE_LIMIT_COMMANDS_BURST: '1000000',
  RATE_LIMIT_STREAM_OPENS_PER_MINUTE: '1000000',
};
