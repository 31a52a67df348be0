/** Names of all time zones. Browsers leave `UTC` out of the list. */
const timeZones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

/** Returns the time zones to choose from. Browsers list one name of each zone, and the chosen one may be another. */
export const listTimeZones = (chosen: string): string[] =>
  chosen === '' || timeZones.includes(chosen) ? timeZones : [chosen, ...timeZones];
