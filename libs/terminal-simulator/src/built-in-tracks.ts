import { createLoopTrack, type Track, type Waypoint } from './track.ts';

/** Latitude, longitude and, optionally, seconds to wait and speed to the next point. */
type Row = readonly [latitudeDeg: number, longitudeDeg: number, stopS?: number, cruiseKmh?: number];

function defineLoop(name: string, altitudeM: number, rows: readonly Row[]): Track {
  const waypoints = rows.map(([latitudeDeg, longitudeDeg, stopS = 0, cruiseKmh = 45], index): Waypoint => {
    // The last stop of a loop is a delivery: the driver turns the engine off.
    return { latitudeDeg, longitudeDeg, altitudeM, stopS, cruiseKmh, parked: index === 0 && stopS > 0 };
  });
  return createLoopTrack(name, waypoints);
}

/** Delivery round in Shenzhen, Futian: Shennan Road, Huanggang Road, Binhe Avenue. */
const shenzhen: readonly Row[] = [
  [22.5411, 114.0506, 45, 50],
  [22.541, 114.0547, 0, 55],
  [22.5407, 114.0597, 18, 55],
  [22.541, 114.0662, 0, 60],
  [22.5385, 114.068, 12, 50],
  [22.5332, 114.0676, 0, 60],
  [22.5279, 114.0668, 15, 70],
  [22.5259, 114.0601, 0, 75],
  [22.5253, 114.0526, 0, 75],
  [22.5262, 114.0447, 0, 60],
  [22.5316, 114.0442, 20, 50],
  [22.5371, 114.0447, 0, 45],
  [22.5409, 114.045, 10, 40],
];

/** Round trip in Shanghai, Pudong: Century Avenue, Zhangyang Road, Yanggao Road. */
const shanghai: readonly Row[] = [
  [31.2363, 121.5051, 60, 40],
  [31.2335, 121.5118, 15, 50],
  [31.2295, 121.5195, 0, 50],
  [31.2247, 121.5279, 22, 50],
  [31.2199, 121.5363, 0, 45],
  [31.2166, 121.5422, 12, 60],
  [31.2231, 121.5468, 0, 60],
  [31.2289, 121.5405, 18, 50],
  [31.2321, 121.5329, 0, 50],
  [31.2349, 121.5249, 14, 45],
  [31.2377, 121.5155, 0, 40],
];

/** Ring in Beijing: Chang'an Avenue, East Second Ring, Ping'an Avenue. */
const beijing: readonly Row[] = [
  [39.9087, 116.3975, 30, 50],
  [39.9089, 116.4108, 15, 55],
  [39.9091, 116.4225, 0, 60],
  [39.9094, 116.4343, 10, 70],
  [39.9172, 116.4344, 0, 75],
  [39.9247, 116.4342, 0, 75],
  [39.9331, 116.434, 12, 60],
  [39.9333, 116.4222, 0, 50],
  [39.9331, 116.4105, 25, 50],
  [39.9329, 116.3981, 0, 45],
  [39.9263, 116.3977, 14, 40],
  [39.9241, 116.4039, 0, 40],
  [39.9163, 116.4043, 10, 40],
];

/** Rural freight road near Chengdu, faster and with few stops. */
const chengdu: readonly Row[] = [
  [30.6598, 104.0657, 40, 60],
  [30.6423, 104.0672, 0, 75],
  [30.6231, 104.0689, 0, 80],
  [30.6052, 104.0703, 15, 80],
  [30.5987, 104.0885, 0, 70],
  [30.6089, 104.1043, 0, 75],
  [30.6285, 104.1098, 12, 70],
  [30.6464, 104.1021, 0, 65],
  [30.6574, 104.0862, 20, 50],
];

/** Built-in loops, by name. */
export const builtInTracks: Readonly<Record<string, Track>> = {
  shenzhen: defineLoop('shenzhen', 18, shenzhen),
  shanghai: defineLoop('shanghai', 6, shanghai),
  beijing: defineLoop('beijing', 44, beijing),
  chengdu: defineLoop('chengdu', 500, chengdu),
};

const names = Object.keys(builtInTracks);

/** Returns the track for the n-th vehicle of a fleet. */
export function trackForVehicle(index: number): Track {
  const track = builtInTracks[names[index % names.length] ?? 'shenzhen'];
  if (track === undefined) throw new RangeError('there is no built-in track');
  return track;
}
