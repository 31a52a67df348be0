/** Severities of a notification. */
export const severities = ['critical', 'warning', 'info'] as const;

/** One of `severities`. */
export type Severity = (typeof severities)[number];

/** Categories that group notifications in lists and settings. */
export const categories = [
  'emergency',
  'security',
  'driving',
  'driver',
  'adas',
  'dsm',
  'bsd',
  'vehicle',
  'geofence',
  'route',
  'video',
  'device',
  'system',
] as const;

/** One of `categories`. */
export type Category = (typeof categories)[number];

/** Kind of a notification. */
export interface TypeDefinition {
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly category: Category;
  readonly severity: Severity;
  /**
   * Sources that raise it: `alarm:<bit>` of the alarm word of 0x0200, `video:<bit>` of item 0x14, `adas:<code>` of item
   * 0x64, `dsm:<code>` of 0x65, `tpms` (0x66), `bsd:<code>` of 0x67, `driving:<code>` of 0x70 (`driving`: any other
   * code), `platform`: detected by the platform.
   */
  readonly sources: readonly string[];
}

/**
 * Types that are always critical. Driving assistance and driver monitoring alarms of level two are also critical, which
 * only the alarm itself contains.
 */
const critical = new Set([
  'sos',
  'collision',
  'rollover',
  'vehicle_theft',
  'power_cut',
  'illegal_ignition',
  'illegal_movement',
  'towing',
  'fuel_drop',
]);
const info = new Set([
  'ignition_on',
  'ignition_off',
  'device_online',
  'video_upload_completed',
  'video_upload_failed',
  'media_captured',
  'driver_change',
  'dsm_driver_change',
  'adas_snapshot',
  'dsm_snapshot',
  'unknown_alarm',
]);

const row = (
  type: string,
  title: string,
  description: string,
  category: Category,
  ...sources: readonly string[]
): TypeDefinition => ({
  type,
  title,
  description,
  category,
  severity: critical.has(type) ? 'critical' : info.has(type) ? 'info' : 'warning',
  sources,
});

/** Every kind of notification (docs/reference/notifications.md). The names are permanent. */
export const typeDefinitions: readonly TypeDefinition[] = [
  row('sos', 'SOS', 'The driver pressed the emergency button.', 'emergency', 'alarm:0'),
  row('overspeed', 'Overspeed', 'The vehicle exceeds its speed limit.', 'driving', 'alarm:1', 'platform'),
  row('fatigue_driving', 'Fatigue driving', 'The driver has driven too long without a rest.', 'driving', 'alarm:2'),
  row('dangerous_driving', 'Dangerous driving', 'The terminal detected dangerous driving.', 'driving', 'alarm:3'),
  row('gnss_fault', 'Positioning fault', 'The positioning module does not work.', 'device', 'alarm:4'),
  row(
    'gnss_antenna_disconnected',
    'Antenna disconnected',
    'The positioning antenna is not connected.',
    'device',
    'alarm:5',
  ),
  row(
    'gnss_antenna_short',
    'Antenna short circuit',
    'The positioning antenna has a short circuit.',
    'device',
    'alarm:6',
  ),
  row('power_low', 'Power low', 'The main power of the terminal is low.', 'device', 'alarm:7'),
  row('power_cut', 'Power cut', 'The terminal was disconnected from the main power.', 'security', 'alarm:8'),
  row('display_fault', 'Display fault', 'The display of the terminal does not work.', 'device', 'alarm:9'),
  row('tts_fault', 'Speech fault', 'The speech module of the terminal does not work.', 'device', 'alarm:10'),
  row('camera_fault', 'Camera fault', 'A camera does not work.', 'device', 'alarm:11'),
  row('ic_card_fault', 'Card reader fault', 'The driver card reader does not work.', 'device', 'alarm:12'),
  row('overspeed_warning', 'Overspeed warning', 'The vehicle is approaching its speed limit.', 'driving', 'alarm:13'),
  row('fatigue_warning', 'Fatigue warning', 'The driver should rest soon.', 'driving', 'alarm:14'),
  row(
    'illegal_driving',
    'Illegal driving',
    'The terminal detected a violation of driving rules.',
    'driving',
    'alarm:15',
  ),
  row(
    'tyre_pressure',
    'Tyre pressure',
    'A tyre has an abnormal pressure or temperature.',
    'vehicle',
    'alarm:16',
    'tpms',
  ),
  row(
    'right_turn_blind_spot',
    'Blind spot on a right turn',
    'Something is in the blind spot while the vehicle turns right.',
    'driving',
    'alarm:17',
  ),
  row('driving_overtime', 'Driving overtime', 'The driving time for the day is used up.', 'driving', 'alarm:18'),
  row('parking_overtime', 'Parking overtime', 'The vehicle has been parked for too long.', 'driving', 'alarm:19'),
  row('geofence', 'Geofence', 'The vehicle entered, left or stayed in an area.', 'geofence', 'alarm:20', 'platform'),
  row(
    'route',
    'Route',
    'The vehicle entered or left a route, reached a waypoint or completed it.',
    'route',
    'alarm:21',
    'platform',
  ),
  row(
    'route_segment_time',
    'Route segment time',
    'A segment of the route took too little or too much time.',
    'route',
    'alarm:22',
  ),
  row('route_deviation', 'Route deviation', 'The vehicle is off its route.', 'route', 'alarm:23', 'platform'),
  row(
    'speed_sensor_fault',
    'Speed sensor fault',
    'The speed sensor of the vehicle does not work.',
    'device',
    'alarm:24',
  ),
  row('fuel_abnormal', 'Abnormal fuel level', 'The fuel level changed in an unusual way.', 'vehicle', 'alarm:25'),
  row('vehicle_theft', 'Vehicle theft', 'The alarm system of the vehicle reports a theft.', 'security', 'alarm:26'),
  row('illegal_ignition', 'Illegal ignition', 'The ignition was turned on without permission.', 'security', 'alarm:27'),
  row('illegal_movement', 'Illegal movement', 'The vehicle was moved without permission.', 'security', 'alarm:28'),
  row('collision', 'Collision', 'The terminal detected a collision.', 'emergency', 'alarm:29'),
  row('rollover', 'Rollover', 'The vehicle has rolled over.', 'emergency', 'alarm:30'),
  row('illegal_door_open', 'Illegal door opening', 'A door was opened without permission.', 'security', 'alarm:31'),
  row('video_signal_loss', 'Video signal lost', 'A camera provides no picture.', 'video', 'video:0'),
  row('video_obstructed', 'Camera obstructed', 'Something is covering a camera.', 'video', 'video:1'),
  row('storage_fault', 'Storage fault', 'A storage unit of the recorder does not work.', 'video', 'video:2'),
  row(
    'video_device_fault',
    'Video device fault',
    'Another part of the video recorder does not work.',
    'video',
    'video:3',
  ),
  row('passenger_overload', 'Passenger overload', 'The vehicle carries too many passengers.', 'driving', 'video:4'),
  row(
    'abnormal_driving',
    'Abnormal driving',
    'The recorder detected unusual driving behaviour.',
    'driving',
    'video:5',
    'driving',
  ),
  row('alarm_storage_full', 'Alarm storage full', 'The storage for alarm recordings is full.', 'video', 'video:6'),
  row(
    'adas_forward_collision',
    'Forward collision warning',
    'The vehicle is approaching the one ahead too fast.',
    'adas',
    'adas:1',
  ),
  row('adas_lane_departure', 'Lane departure', 'The vehicle is leaving its lane.', 'adas', 'adas:2'),
  row('adas_headway', 'Distance too short', 'The distance to the vehicle ahead is too short.', 'adas', 'adas:3'),
  row(
    'adas_pedestrian',
    'Pedestrian collision warning',
    'A pedestrian is in the path of the vehicle.',
    'adas',
    'adas:4',
  ),
  row('adas_frequent_lane_change', 'Frequent lane changes', 'The vehicle changes lanes often.', 'adas', 'adas:5'),
  row('adas_road_sign', 'Road sign limit exceeded', 'The vehicle exceeds what a road sign allows.', 'adas', 'adas:6'),
  row('adas_obstacle', 'Obstacle', 'An obstacle is in the path of the vehicle.', 'adas', 'adas:7'),
  row('adas_sign_recognised', 'Road sign recognised', 'The camera has recognised a road sign.', 'adas', 'adas:16'),
  row(
    'adas_snapshot',
    'Driving assistance snapshot',
    'The driving assistance system has taken a picture.',
    'adas',
    'adas:17',
  ),
  row('adas_solid_line', 'Solid line crossed', 'The vehicle has crossed a solid line.', 'adas', 'adas:18'),
  row('adas_aisle_pedestrian', 'Person in the aisle', 'A person is standing in the aisle.', 'adas', 'adas:19'),
  row('dsm_fatigue', 'Driver fatigue', 'The driver shows signs of fatigue.', 'dsm', 'dsm:1'),
  row('dsm_phone', 'Phone use', 'The driver is making a phone call.', 'dsm', 'dsm:2'),
  row('dsm_smoking', 'Smoking', 'The driver is smoking.', 'dsm', 'dsm:3'),
  row('dsm_distraction', 'Distraction', 'The driver is not looking at the road.', 'dsm', 'dsm:4'),
  row(
    'dsm_driver_abnormal',
    'Abnormal driver state',
    'The camera does not see the driver in a normal state.',
    'dsm',
    'dsm:5',
  ),
  row('dsm_camera_covered', 'Driver camera covered', 'The camera that watches the driver is covered.', 'dsm', 'dsm:6'),
  row('dsm_overtime', 'Too long at the wheel', 'The camera has seen the same driver for too long.', 'dsm', 'dsm:8'),
  row('dsm_seatbelt', 'Seat belt', 'The driver is not wearing a seat belt.', 'dsm', 'dsm:10'),
  row(
    'dsm_sunglasses',
    'Infrared-blocking glasses',
    'The driver is wearing glasses that the camera cannot see through.',
    'dsm',
    'dsm:11',
  ),
  row('dsm_hands_off', 'Hands off the wheel', 'The driver has both hands off the wheel.', 'dsm', 'dsm:12'),
  row('dsm_phone_play', 'Playing with the phone', 'The driver is playing with a phone.', 'dsm', 'dsm:13'),
  row('dsm_snapshot', 'Driver snapshot', 'The camera has taken a picture of the driver.', 'dsm', 'dsm:16'),
  row('dsm_driver_change', 'Driver changed', 'The camera sees another driver.', 'dsm', 'dsm:17'),
  row('bsd_rear', 'Object behind', 'Something is approaching from behind.', 'bsd', 'bsd:1'),
  row('bsd_left_rear', 'Left blind spot', 'Something is in the blind spot on the left.', 'bsd', 'bsd:2'),
  row('bsd_right_rear', 'Right blind spot', 'Something is in the blind spot on the right.', 'bsd', 'bsd:3'),
  row('harsh_acceleration', 'Harsh acceleration', 'The vehicle accelerated hard.', 'driving', 'driving:1'),
  row('harsh_braking', 'Harsh braking', 'The vehicle braked hard.', 'driving', 'driving:2'),
  row('harsh_cornering', 'Harsh cornering', 'The vehicle cornered hard.', 'driving', 'driving:3'),
  row('ignition_on', 'Ignition on', 'The ignition was turned on.', 'vehicle', 'platform'),
  row('ignition_off', 'Ignition off', 'The ignition was turned off.', 'vehicle', 'platform'),
  row('idling', 'Idling', 'The engine has been running for minutes without moving the vehicle.', 'vehicle', 'platform'),
  row('towing', 'Towing', 'The vehicle is moving with its ignition off.', 'security', 'platform'),
  row('device_online', 'Device online', 'The terminal has connected.', 'device', 'platform'),
  row('device_offline', 'Device offline', 'The terminal has sent nothing for a while.', 'device', 'platform'),
  row('fuel_drop', 'Fuel drop', 'The fuel level dropped suddenly.', 'security', 'platform'),
  row('fuel_fill', 'Fuel filled', 'The fuel level rose suddenly.', 'vehicle', 'platform'),
  row('low_battery', 'Battery low', 'The battery of the terminal is low.', 'device', 'platform'),
  row('night_driving', 'Night driving', 'The vehicle is driven at night.', 'driving', 'platform'),
  row('driver_change', 'Driver change', 'Another driver has logged in.', 'driver', 'platform'),
  row('maintenance_due', 'Maintenance due', 'The vehicle is due for its next service.', 'vehicle', 'platform'),
  row('document_expiry', 'Document expiry', 'A licence expires soon.', 'driver', 'platform'),
  row('video_upload_completed', 'Video uploaded', 'A recording has been uploaded.', 'video', 'platform'),
  row('video_upload_failed', 'Video upload failed', 'A recording could not be uploaded.', 'video', 'platform'),
  row('media_captured', 'Picture captured', 'A camera has taken a requested picture.', 'video', 'platform'),
  row('storage_quota', 'Storage nearly full', 'The media storage of the vehicle is nearly full.', 'system', 'platform'),
  row('command_failed', 'Command failed', 'A command to the terminal has failed.', 'system', 'platform'),
  row(
    'webhook_disabled',
    'Webhook disabled',
    'A webhook is failing, or was disabled because of failures.',
    'system',
    'platform',
  ),
  row('unknown_alarm', 'Unknown alarm', 'The terminal reported an unknown alarm.', 'device', 'platform'),
];

const byType = new Map(typeDefinitions.map((kind) => [kind.type, kind]));
const bySource = new Map(
  typeDefinitions.flatMap((kind) =>
    kind.sources.filter((source) => source !== 'platform').map((source) => [source, kind] as const),
  ),
);

/** Returns the kind with a type name. */
export const findTypeDefinition = (type: string): TypeDefinition | undefined => byType.get(type);

/** Returns the kind for a terminal's bit or code, written as in `sources`. */
export const findTypeOfSource = (source: string): TypeDefinition | undefined => bySource.get(source);

/** Returns true if the kind is enabled unless a user disables it. */
export const isOnByDefault = ({ severity }: TypeDefinition): boolean => severity !== 'info';
