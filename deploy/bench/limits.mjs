/** Rate limits that no benchmark reaches: the limiter itself is tested at its defaults. */
export const raisedLimits = {};
