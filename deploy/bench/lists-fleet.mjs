// The vehicles of `lists.mjs` with their drivers, groups and geofences.
import { insertAll } from './lists-account.mjs';

/** Inserts vehicles with their unique values and terminals. */
export async function fillVehicles({ db, accountId, userId, first, imeiOf, at, insert, sizes, nowMs }) {
  await insert('vehicles', sizes.vehicles, (index) => ({
    vehicleNo: `B${String(index).padStart(6, '0')}`,
    name: `Vehicle ${index}`,
    imei: imeiOf(index),
    recordedImei: imeiOf(index),
    ownerUserId: userId,
    driverId: index < sizes.drivers ? first + index : null,
    groupIds: [first + (index % sizes.groups)],
    createdAt: at(365, index / sizes.vehicles),
  }));
  await insertAll(db.collection('unique_values'), 2 * sizes.vehicles, (index) => {
    const vehicle = Math.floor(index / 2);
    const key =
      index % 2 === 0 ? `imei:${imeiOf(vehicle)}` : `vehicleNo:${accountId}:B${String(vehicle).padStart(6, '0')}`;
    return { _id: `vehicles.${key}`, recordId: first + vehicle, takenAt: new Date(nowMs) };
  });
  await insertAll(db.collection('devices'), sizes.vehicles, (index) => ({
    _id: imeiOf(index),
    edition: '2013',
    manufacturer: '70111',
    model: 'T1',
    terminalId: '1234567',
    seenMs: nowMs,
    isOffline: true,
    updatedAt: new Date(nowMs),
  }));
}

/** Inserts drivers, groups and geofences. */
export async function fillFleet({ accountId, first, insert, sizes }) {
  await insert('drivers', sizes.drivers, (index) => ({
    name: `Driver ${index}`,
    phoneNumber: `+1415555${String(index).padStart(4, '0')}`,
    licenseNumber: `L${index}`,
    cardNumber: `C${index}`,
    status: index % 10 === 0 ? 'inactive' : 'active',
  }));
  await insert('vehicle_groups', sizes.groups, (index) => ({
    name: `Group ${index}`,
    parentGroup: index < 10 ? null : first + (index % 10),
    siblingKey: `${accountId}:group-${index}`,
    geofences: [],
    drivers: [],
  }));
  await insert('geofences', sizes.geofences, (index) => ({
    name: `Geofence ${index}`,
    vehicles: index % 2 === 0 ? [first + (index % sizes.vehicles)] : [],
    groups: index % 2 === 1 ? [first + (index % sizes.groups)] : [],
  }));
}
