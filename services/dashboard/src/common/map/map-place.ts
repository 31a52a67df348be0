/** Centre and zoom of a map. */
export interface MapPlace {
  readonly latitude: number;
  readonly longitude: number;
  readonly zoom: number;
}
