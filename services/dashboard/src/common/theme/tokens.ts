/** Colours of one theme. Each colour stands here once: components, map and canvas read it from here. */
export interface ThemeColors {
  readonly background: string;
  readonly surface: string;
  readonly border: string;
  readonly inputBorder: string;
  readonly text: string;
  readonly mutedText: string;
  /** Also the colour of actions. */
  readonly moving: string;
  /** Also the colour of warnings. */
  readonly idle: string;
  readonly idleText: string;
  readonly stopped: string;
  readonly offline: string;
  /** Alarms, critical events and dangerous actions only. */
  readonly critical: string;
  readonly water: string;
  readonly land: string;
}

export const colors: Readonly<Record<'light' | 'dark', ThemeColors>> = {
  light: {
    background: '#F5F7F9',
    surface: '#FFFFFF',
    border: '#CBD3DB',
    inputBorder: '#7C8794',
    text: '#1B232C',
    mutedText: '#57616D',
    moving: '#0A5BB5',
    idle: '#C26100',
    idleText: '#8F4700',
    stopped: '#3D4652',
    offline: '#727E8C',
    critical: '#AA0909',
    water: '#DCE6EE',
    land: '#F5F7F9',
  },
  dark: {
    background: '#12161C',
    surface: '#1A2028',
    border: '#323C49',
    inputBorder: '#6B7787',
    text: '#E6EAEF',
    mutedText: '#9AA5B3',
    moving: '#6CB8FF',
    idle: '#FFC15E',
    idleText: '#FFC15E',
    stopped: '#D7DEE7',
    offline: '#7E8A99',
    critical: '#EC5151',
    water: '#0C1014',
    land: '#1A2028',
  },
};

/** Colours of a track from slow to fast (cividis); every step differs in lightness too. */
export const trackColors = ['#00224E', '#414D6B', '#7C7B78', '#BCAF6F', '#FEE838'] as const;
/** Colour below the track, which separates it from every base map. */
export const trackCasing = '#12161C';

/** Colours that users give to geofences, routes and groups. Red is left to alarms. */
export const placeColors = {
  blue: '#0A5BB5',
  teal: '#0B7A75',
  green: '#3F7D20',
  orange: '#C26100',
  purple: '#7B3FA0',
  pink: '#B83280',
  grey: '#57616D',
} as const;

export type Theme = keyof typeof colors;

const toVariableName = (name: string): string =>
  `--fleet-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Returns the colours of a theme as CSS custom properties, such as `--fleet-muted-text`. */
export const toCssVariables = (theme: Theme): Record<string, string> =>
  Object.fromEntries(Object.entries(colors[theme]).map(([name, value]) => [toVariableName(name), value as string]));
