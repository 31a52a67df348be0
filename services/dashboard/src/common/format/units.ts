/** Units of a user's preferences. */
export interface Units {
  readonly distance: 'km' | 'mi';
  readonly speed: 'kmh' | 'mph' | 'kn';
  readonly volume: 'l' | 'gal';
}

const speedFactors = { kmh: 1, mph: 0.621371, kn: 0.539957 } as const;
const speedNames = { kmh: 'km/h', mph: 'mph', kn: 'kn' } as const;
const kmPerMile = 1.609344;
const litresPerGallon = 3.785412;

/** Returns a speed in km/h in the user's unit, such as "52 km/h". */
export const formatSpeed = (kmh: number, { speed }: Units): string =>
  `${Math.round(kmh * speedFactors[speed])} ${speedNames[speed]}`;

/** Returns a distance in kilometres in the user's unit, such as "20,412 km". */
export function formatDistance(km: number, { distance }: Units, language: string): string {
  const value = distance === 'km' ? km : km / kmPerMile;
  const digits = value < 10 ? 1 : 0;
  return `${new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value)} ${distance}`;
}

/** Returns a volume in litres in the user's unit, such as "84 l". */
export const formatVolume = (litres: number, { volume }: Units): string =>
  volume === 'l' ? `${Math.round(litres)} l` : `${Math.round(litres / litresPerGallon)} gal`;
