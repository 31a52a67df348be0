/** Examples of whole request bodies, where an example with every field would contradict itself. */
const area = {
  name: 'Container terminal',
  type: 'polygon',
  coordinates: [
    [9.9816, 76.2999],
    [9.9674, 76.3182],
    [9.9312, 76.2673],
  ],
  color: '#1976D2',
  notify_on: ['enter', 'exit'],
  schedule: { timezone: 'Asia/Kolkata', days: [1, 2, 3, 4, 5], from: '22:00', to: '06:00' },
  groups: [4],
};

const route = {
  name: 'Edappally to the port',
  color: '#1976D2',
  waypoints: [
    { lat: 9.9816, lng: 76.2999, name: 'Depot', radius_m: 50 },
    { lat: 9.9312, lng: 76.2673, name: 'Container terminal', radius_m: 100, stop_seconds: 600 },
  ],
  profile: 'truck',
  deviation_m: 150,
  notify_on: ['deviation', 'return', 'completed'],
};

const position = {
  deviceImei: '868120303960832',
  gpsTime: '2026-01-31 08:15:30',
  lat: 9.9312,
  lng: 76.2673,
  gpsSpeed: 47.5,
  direction: 128,
};

/** By operation. */
export const requestBodies = {
  register: {
    name: 'Ann Thomas',
    email: 'ann@fleet.example',
    phone_number: '+919876543210',
    password: 'correct horse battery',
    account_name: 'Malabar Logistics',
  },
  login: { identifier: 'ann@fleet.example', password: 'correct horse battery', code: '123456' },
  verifyOneTimeCode: { phone_number: '+919876543210', code: '123456' },
  createUser: {
    name: 'Ann Thomas',
    email: 'ann@fleet.example',
    role: 'manager',
    password: 'correct horse battery',
    can_view_video: true,
  },
  updateUser: { name: 'Ann Thomas', role: 'manager', can_view_video: true, language: 'en', timezone: 'Asia/Kolkata' },
  createApiKey: { name: 'Reporting', scopes: ['read'], ip_allowlist: ['203.0.113.0/24'] },
  openAccount: {
    name: 'Malabar Logistics',
    timezone: 'Asia/Kolkata',
    city: 'Kochi',
    country: 'India',
    owner: { name: 'Ann Thomas', email: 'ann@fleet.example', role: 'owner' },
  },
  updateAccount: { name: 'Malabar Logistics', timezone: 'Asia/Kolkata', city: 'Kochi', country: 'India' },
  createGeofence: area,
  updateGeofence: area,
  createRoute: route,
  updateRoute: route,
  updateVehicleGroup: { name: 'Port traffic', parent_group: null, add_vehicles: [9], remove_vehicles: [8] },
  broadcastVoice: { group_id: 4, text: 'Please call the office.', language: 'en' },
  controlDashcamPlayback: { channel_id: 1, playback_control: 5, drag_playback_time: '2026-01-31T08:10:00Z' },
  listMiningDevices: { page: 1, limit: 50, sort: '-last_seen', filters: { status: 'active', site: 'Quarry North' } },
  clearMiningData: { confirm: 'CLEAR', imei: '013800138000', before: '2025-12-31T00:00:00Z' },
  pushPartnerHeartbeats: { data: [{ deviceImei: '868120303960832', gateTime: '2026-01-31 08:15:30' }] },
  pushPartnerPositions: { data: [position] },
  extractDocument: {
    content_base64: '/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==',
    mime_type: 'image/jpeg',
    document_type: 'driver_license',
    country: 'IN',
  },
  createDocument: {
    content_base64: '/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==',
    mime_type: 'image/jpeg',
    document_type: 'driver_license',
    driver_id: 12,
  },
  receiveSms: { id: 'SM65bb0a2e9c1d4f5a', from: '+919876543210', to: '+914842345678', text: 'Where is KL07CD1234?' },
  receiveVoice: { call_id: 'CA65bb0a2e9c1d4f5a', from: '+919876543210', transcript: 'Where is my truck?' },
  createPartner: {
    name: 'Example Hub',
    imei_prefixes: ['0138'],
    ip_allowlist: ['203.0.113.0/24'],
    command_url: 'https://hub.example.com',
    command_token: 'ht_9wZb3NcKds4fXh2m',
  },
  updatePartner: { name: 'Example Hub', ip_allowlist: ['203.0.113.0/24'] },
};
