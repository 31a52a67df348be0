import type { FeatureCollection, Geometry, Position } from 'geojson';

/**
 * Returns countries whose longitudes are continuous: a border that crosses the antimeridian continues beyond 180
 * degrees. On a flat map it would otherwise lead back around the world.
 */
export const unwrapLongitudes = (countries: FeatureCollection): FeatureCollection => ({
  ...countries,
  features: countries.features.map((country) => ({ ...country, geometry: unwrapGeometry(country.geometry) })),
});

/** Returns an area or lines with continuous longitudes. */
export function unwrapGeometry(geometry: Geometry): Geometry {
  if (geometry.type === 'Polygon') return { ...geometry, coordinates: geometry.coordinates.map(unwrapRing) };
  if (geometry.type === 'MultiPolygon')
    return { ...geometry, coordinates: geometry.coordinates.map((rings) => rings.map(unwrapRing)) };
  if (geometry.type === 'MultiLineString')
    return { ...geometry, coordinates: geometry.coordinates.map((line) => unwrapLine(line).positions) };
  return geometry;
}

function unwrapRing(ring: Position[]): Position[] {
  const { positions, turn } = unwrapLine(ring);
  return turn === 0 ? positions : closeAtPole(positions);
}

/** Returns the positions of a line, and by how many degrees it leads around the world. */
function unwrapLine(line: Position[]): { positions: Position[]; turn: number } {
  let turn = 0;
  let previous = line[0]?.[0] ?? 0;
  const positions = line.map(([longitude = 0, latitude = 0]): Position => {
    if (longitude - previous > 180) turn -= 360;
    else if (longitude - previous < -180) turn += 360;
    previous = longitude;
    return [longitude + turn, latitude];
  });
  return { positions, turn };
}

/** Closes a ring around a pole, such as the coast of Antarctica, along that pole. */
function closeAtPole(ring: Position[]): Position[] {
  const [first, last] = [ring[0], ring.at(-1)];
  if (first === undefined || last === undefined) return ring;
  const pole = (first[1] ?? 0) < 0 ? -90 : 90;
  return [...ring, [last[0] ?? 0, pole], [first[0] ?? 0, pole], first];
}
