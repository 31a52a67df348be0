/** States of a vehicle, in the order of their numbers in a batch. */
export const vehicleStates = ['moving', 'idle', 'stopped', 'offline', 'never_connected'] as const;
export type VehicleState = (typeof vehicleStates)[number];

/** Numbers of one vehicle in a batch, in this order. */
export const rowLength = 8;
export const column = {
  vehicleId: 0,
  latitude: 1,
  longitude: 2,
  speed: 3,
  course: 4,
  state: 5,
  timestamp: 6,
  isValid: 7,
} as const;

/** Fields of a location that the page shows. */
export interface LiveLocation {
  readonly vehicle_id: number | null;
  readonly latitude: number;
  readonly longitude: number;
  readonly speed: number;
  readonly course: number;
  readonly state: VehicleState;
  readonly timestamp: number;
  readonly gps_valid: boolean;
}

export type ConnectionState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'disconnected'; readonly sinceMs: number; readonly retryAtMs: number }
  | { readonly kind: 'tooManyWindows' };

/** Messages from the page to the worker. */
export type ToWorker =
  | { readonly kind: 'token'; readonly wsUrl: string; readonly token: string }
  | { readonly kind: 'tokenFailed' }
  /** The page has processed the last batch. */
  | { readonly kind: 'batchDone' }
  | { readonly kind: 'reconnect' }
  | { readonly kind: 'stop' };

/** A record event of the websocket, such as `notification` or `vehicle`. */
export interface RecordEvent {
  readonly type: string;
  readonly data: unknown;
}

/** Messages from the worker to the page. */
export type FromWorker =
  | { readonly kind: 'needsToken' }
  | { readonly kind: 'connection'; readonly state: ConnectionState }
  | { readonly kind: 'batch'; readonly rows: Float64Array }
  | { readonly kind: 'events'; readonly events: readonly RecordEvent[] }
  /** Events were dropped; the page reads them by HTTP. */
  | { readonly kind: 'gap' };
