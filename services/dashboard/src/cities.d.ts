/** Name, longitude, latitude and population of cities, the largest first. The build replaces it (vite.config.ts). */
declare const __CITIES__: readonly (readonly [name: string, longitude: number, latitude: number, population: number])[];
