export {
  claimDevice,
  type DeviceState,
  forgetGateway,
  gatewayTtlMs,
  keepGatewayAlive,
  readDevice,
  readDevices,
  releaseDevice,
} from './device-state.ts';
export { findByIds } from './find-by-ids.ts';
export { insertNew } from './insert-new.ts';
export {
  type Collection,
  type Database,
  type Db,
  dropIndexIfExists,
  indexNames,
  isDatabaseAway,
  isDuplicateKey,
  openDatabase,
  tooLargeIn,
  writeInBulk,
} from './mongo.ts';
export { dialRedis, openRedis, type Redis, redisAnswers } from './redis.ts';
export {
  acknowledgeStream,
  claimStream,
  countStreamingChannels,
  dropStreamRequest,
  firstPacketLimitMs,
  keepStream,
  keepStreamRequest,
  readStream,
  releaseStream,
  reserveStream,
  type StreamClaim,
  type StreamId,
  type StreamKind,
  type StreamRequest,
  streamTtlMs,
  takeOverdueStreams,
  takeVoidStreams,
} from './stream-state.ts';
export {
  readTerminalProfile,
  saveTerminalAudio,
  saveTerminalModel,
  type TerminalAudio,
  type TerminalProfile,
} from './terminal-profile.ts';
export {
  type Clip,
  clipKey,
  newReservation,
  type Reservation,
  type UploadedFile,
  type UploadRecord,
  UploadRecords,
  type UploadStatus,
  uploadStatuses,
  uploadUserName,
} from './upload-records.ts';
export { type AttemptOutcome, deliveryIdOf, type NewDelivery, WebhookRecords } from './webhook-records.ts';
export {
  type AttemptError,
  type AttemptRecord,
  type AttemptTrigger,
  attemptErrors,
  type CustomHeader,
  currentHealth,
  type DeliveryFilter,
  type DeliveryRecord,
  type DeliveryStats,
  type DeliveryStatus,
  type DeliverySummary,
  type DueDelivery,
  deliveryStatuses,
  type ReplayPart,
  type WebhookHealth,
  type WebhookNotice,
  type WebhookRecord,
  webhookSecretPurpose,
} from './webhook-types.ts';
