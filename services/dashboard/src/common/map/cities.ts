/** Cities of 100,000 people and more. Loaded on its own, after the map. */
export const cities = __CITIES__;
