export {
  claimDevice,
  type DeviceState,
  deregisterGateway,
  gatewayTtlMs,
  heartbeatGateway,
  isDeviceExpected,
  readDevice,
  readDevices,
  readLastSeenMs,
  releaseDevice,
} from './device-state.ts';
export { findByIds } from './find-by-ids.ts';
export { insertIgnoringDuplicates } from './insert-ignoring-duplicates.ts';
export { type AcquireOptions, acquireLease, Lease, type LeaseClaim, type LeaseRecord, releaseLease } from './lease.ts';
export {
  type Collection,
  type Database,
  type Db,
  dropIndexIfExists,
  findTooLargeIds,
  indexNames,
  isDatabaseUnavailable,
  isDuplicateKey,
  openDatabase,
  writeInBulk,
} from './mongo.ts';
export { connectRedis, createRedisClient, pingRedis, type Redis } from './redis.ts';
export { acquireRedisLock, type RedisLock, releaseRedisLock } from './redis-lock.ts';
export {
  acknowledgeStream,
  cancelStreamRequest,
  claimStream,
  countStreamingChannels,
  firstPacketTimeoutMs,
  popOrphanedStreams,
  popTimedOutStreams,
  readStream,
  releaseStream,
  renewStreamClaim,
  renewStreamRequest,
  reserveStream,
  type StreamClaim,
  type StreamId,
  type StreamKind,
  type StreamRequest,
  streamTtlMs,
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
  createReservation,
  isExternalUpload,
  type Reservation,
  type UploadedFile,
  type UploadRecord,
  UploadRepository,
  type UploadStatus,
  uploadStatuses,
  uploadUserName,
} from './upload-repository.ts';
export { computeDeliveryId, type DeliveryUpdate, type NewDelivery, WebhookRepository } from './webhook-repository.ts';
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
  type ReplayBatch,
  type WebhookHealth,
  type WebhookNotice,
  type WebhookRecord,
  webhookSecretPurpose,
} from './webhook-types.ts';
