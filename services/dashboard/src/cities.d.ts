declare module '*?cities' {
  /** Name, longitude, latitude and population of each city, the largest first. */
  const cities: readonly (readonly [name: string, longitude: number, latitude: number, population: number])[];
  export default cities;
}
