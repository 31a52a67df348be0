export { findVehicleByImei, findVehicleOwnerIds, findVehiclesByImei, vehicleCollection } from './store.ts';
