export { allocateIds } from './allocate-ids.ts';
export { compareAndSet } from './compare-and-set.ts';
export {
  dropCollections,
  dumpDocuments,
  dumpMetadata,
  isDatabaseEmpty,
  listCollections,
  restoreCollection,
} from './database-dump.ts';
export { DelayedJobs } from './delayed-jobs.ts';
export { type DeliveryRepository, toLastAttempt } from './delivery-repository.ts';
export type { DeliverySchedule } from './delivery-schedule.ts';
export {
  claimDevice,
  type DeviceState,
  deregisterGateway,
  heartbeatGateway,
  isDeviceExpected,
  readDevice,
  readDevices,
  readLastSeenMs,
  releaseDevice,
} from './device-state.ts';
export { findByIds } from './find-by-ids.ts';
export { insertIgnoringDuplicates } from './insert-ignoring-duplicates.ts';
export { acquireLease, Lease, type LeaseRecord, releaseLease } from './lease.ts';
export {
  closeMainStreamViewer,
  deleteMainStreamViewers,
  isMainStreamWanted,
  leaveMainStream,
  mainStreamViewerTtlMs,
  openMainStreamViewer,
  renewMainStreamViewer,
  startMainStream,
} from './main-stream-viewers.ts';
export {
  type Collection,
  type Database,
  dropIndexIfExists,
  findTooLargeIds,
  indexNames,
  isDatabaseUnavailable,
  isDuplicateKey,
  openDatabase,
  writeInBulk,
} from './mongo.ts';
export { Mp4JobRepository, type Mp4Outcome } from './mp4-job-repository.ts';
export { countStreamingChannels, readStream } from './read-streams.ts';
export { connectRedis, createRedisClient, emptyRedis, isRedisEmpty, pingRedis, type Redis } from './redis.ts';
export { acquireRedisLock, type RedisLock, releaseRedisLock } from './redis-lock.ts';
export type { ReplayQueue } from './replay-queue.ts';
export {
  claimStream,
  endedStreamTtlMs,
  popOrphanedStreams,
  readEndedStream,
  releaseStream,
  renewStreamClaim,
} from './stream-claims.ts';
export { completeMove, handOverStream, type MovingStream, moveTimeoutMs, takeMovingStreams } from './stream-moves.ts';
export {
  acknowledgeStream,
  cancelStreamRequest,
  firstPacketTimeoutMs,
  popTimedOutStreams,
  renewStreamRequest,
  reserveStream,
} from './stream-requests.ts';
export {
  type HlsContinuation,
  type StreamClaim,
  type StreamId,
  type StreamKind,
  type StreamRequest,
  streamKinds,
} from './stream-state.ts';
export {
  addViewer,
  countViewersBySubject,
  hlsReaderTtlMs,
  removeViewer,
  renewViewer,
  type StreamViewer,
  viewerTtlMs,
} from './stream-viewers.ts';
export {
  readTerminalProfile,
  saveTerminalAudio,
  saveTerminalModel,
  type TerminalAudio,
  type TerminalProfile,
} from './terminal-profile.ts';
export { type ListedUpload, type UnownedUpload, UploadList, type UploadScope } from './upload-list.ts';
export {
  type Clip,
  clipKey,
  createReservation,
  isExternalUpload,
  type Mp4Job,
  mp4Statuses,
  type UploadedFile,
  type UploadRecord,
  type UploadStatus,
  uploadStatuses,
  uploadUserName,
} from './upload-record.ts';
export { UploadRepository } from './upload-repository.ts';
export { readVoice, saveVoice } from './voice-files.ts';
export { WebhookRepository } from './webhook-repository.ts';
export {
  type AttemptError,
  type AttemptRecord,
  type AttemptTrigger,
  attemptErrors,
  type CustomHeader,
  currentHealth,
  type DeliveryBucket,
  type DeliveryRecord,
  type DeliveryStats,
  type DeliverySummary,
  type DueDelivery,
  deliveryStatuses,
  type LastAttempt,
  type WebhookHealth,
  type WebhookNotice,
  type WebhookRecord,
  webhookSecretPurpose,
} from './webhook-types.ts';
