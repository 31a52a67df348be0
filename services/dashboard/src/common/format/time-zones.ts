/** Names of all time zones. Browsers leave `UTC` out of the list. */
export const timeZones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];
