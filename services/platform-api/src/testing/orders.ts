import { findSubscriptions } from '../domains/billing/subscriptions.ts';
import type { ApiResponse, Data, PlatformHarness } from './platform-harness.ts';

let serial = 0;
/** Creates a vehicle with a number of its own. */
export async function createVehicle(harness: PlatformHarness): Promise<number> {
  serial += 1;
  const response = await harness.as(harness.ours.owner).post('/api/vehicles', { vehicle_no: `PAY ${serial}` });
  if (response.status !== 201) throw new Error(`the vehicle was not created: ${response.status}`);
  return response.data.id;
}

/** Creates an order for a new vehicle. */
export async function createOrder(harness: PlatformHarness, more: Record<string, unknown> = {}): Promise<ApiResponse> {
  const body = { plan: 'basic', vehicle_ids: [await createVehicle(harness)], months: 1, ...more };
  return harness.as(harness.ours.owner).post('/api/subscription/create-gateway-order', body);
}

export const readOrder = async (harness: PlatformHarness, id: number): Promise<Data> =>
  (await harness.as(harness.ours.owner).get(`/api/subscription/orders/${id}`)).data;

/** Returns the status of the subscription of the order's first vehicle. */
export const readSubscriptionStatus = async (harness: PlatformHarness, created: Data): Promise<string | undefined> => {
  const [vehicleId = 0] = created['vehicle_ids'] as number[];
  return (await findSubscriptions(harness.deps, harness.ours, [vehicleId])).get(vehicleId)?.status;
};
