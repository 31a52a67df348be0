import { parseAttributes } from '../../platform/fields.ts';
import { toRecordResponse } from '../../platform/schemas.ts';
import type { SubscriptionResponse } from '../billing/schema.ts';
import { odometerOf } from '../positions/odometer.ts';
import { neverConnected, toCurrentLocation, type VehicleLiveState } from './live-states.ts';
import type { Channel, VehicleResponse } from './schema.ts';
import type { VisibleVehicle } from './visibility.ts';

/**
 * Converts a vehicle for its caller. Driver, groups, attributes and subscription belong to the owning account, and are
 * not visible to users of a share.
 */
export function toVehicleResponse(
  { vehicle, access, permissions }: VisibleVehicle,
  now: VehicleLiveState = neverConnected,
  subscription: SubscriptionResponse | null = null,
  travelledKm = 0,
): VehicleResponse {
  const isOwn = access === 'owner';
  return {
    ...toRecordResponse(vehicle),
    account_id: vehicle.accountId,
    owner_user_id: vehicle.ownerUserId,
    vehicle_no: vehicle.vehicleNo,
    name: vehicle.name,
    imei: now.displayImei ?? vehicle.recordedImei ?? vehicle.imei,
    vehicle_type: vehicle.vehicleType,
    make: vehicle.make,
    model: vehicle.model,
    year: vehicle.year,
    color: vehicle.color,
    vin: vehicle.vin,
    fuel_type: vehicle.fuelType,
    tank_capacity_l: vehicle.tankCapacityL,
    speed_limit_kmh: vehicle.speedLimitKmh,
    odometer_km: odometerOf(vehicle, travelledKm),
    timezone: vehicle.timezone,
    camera_utc_offset: vehicle.cameraUtcOffset,
    driver_id: isOwn ? vehicle.driverId : null,
    group_ids: isOwn ? [...vehicle.groupIds] : [],
    channels: vehicle.channels.map(toChannelResponse),
    attributes: isOwn ? parseAttributes(vehicle.attributes) : {},
    access,
    permissions: [...permissions],
    state: now.state,
    state_since: now.stateSinceMs,
    location: toCurrentLocation(now, { id: vehicle._id, driverId: isOwn ? vehicle.driverId : null }),
    device: now.device,
    subscription: isOwn ? subscription : null,
  };
}

const toChannelResponse = ({ channelId, name, enabled, hasAudio }: Channel) => ({
  channel_id: channelId,
  name,
  enabled,
  has_audio: hasAudio,
});
