export { findVehicleByImei, findVehiclesByImei, ownersOfVehicles, vehiclesIn } from './store.ts';
