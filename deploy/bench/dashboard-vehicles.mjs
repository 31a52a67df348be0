// Vehicles of the benchmark of the dashboard, which drive in an area of 200 km.
const metresPerDegree = 111_320;

const batchMs = 100;

/** Creates vehicles that drive straight ahead, and turn around at the border of the area. */
const createVehicles = (count, atMs) =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    latitude: 10 + ((index * 7919) % 10_000) / 5_600,
    longitude: 76 + ((index * 104_729) % 10_000) / 5_600,
    course: (index * 37) % 360,
    speed: index % 10 < 6 ? 30 + (index % 50) : 0,
    state: index % 10 < 6 ? 'moving' : ['idle', 'stopped', 'stopped', 'offline'][index % 4],
    atMs,
  }));

function drive(vehicle, nowMs) {
  const metres = (vehicle.speed / 3.6) * ((nowMs - vehicle.atMs) / 1_000);
  const angle = (vehicle.course * Math.PI) / 180;
  vehicle.latitude += (Math.cos(angle) * metres) / metresPerDegree;
  vehicle.longitude += (Math.sin(angle) * metres) / metresPerDegree;
  vehicle.atMs = nowMs;
  if (Math.abs(vehicle.latitude - 10.9) > 1 || Math.abs(vehicle.longitude - 76.9) > 1)
    vehicle.course = (vehicle.course + 180) % 360;
}

/** Moves some vehicles ten times a second, and passes each batch on. */
export class DrivingVehicles {
  startMs = Date.now();
  #next = 0;

  constructor(count, updatesPerSecond) {
    this.all = createVehicles(count, this.startMs);
    this.batchSize = (updatesPerSecond * batchMs) / 1_000;
  }

  start(onBatch) {
    setInterval(() => {
      const nowMs = Date.now();
      const batch = Array.from({ length: this.batchSize }, () => {
        this.#next += 1;
        return this.all[this.#next % this.all.length];
      });
      for (const vehicle of batch) drive(vehicle, nowMs);
      onBatch(batch);
    }, batchMs);
  }
}
