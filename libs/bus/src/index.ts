export { headers } from 'nats';
export {
  accessChanged,
  connectionsDisplaced,
  type DeviceAccessEvent,
  deviceAccessed,
  keyRevoked,
  revokeKey,
  shareLinkRevoked,
  verifyKey,
} from './access-requests.ts';
export { callIdempotentUseCase } from './call-idempotent-use-case.ts';
export {
  type CaptureOptions,
  captureMedia,
  captureQualities,
  type LiveRecording,
  recordLive,
} from './capture-requests.ts';
export { type Bus, openBus } from './connection.ts';
export {
  type BusContext,
  BusError,
  type CommandIdentity,
  decodeJson,
  encodeJson,
  headerNames,
  publish,
  type RequestOptions,
  request,
  serve,
  subscribe,
} from './contract.ts';
export {
  type ClassifiedCommand,
  defaultCommandLevel,
  isCommandAllowed,
  isCriticalCommand,
  type PartnerCommandLevel,
  partnerCommandLevels,
} from './critical-commands.ts';
export {
  type DataBudgetSpent,
  type DataLimit,
  type DataUsageReported,
  dataBudgetSpent,
  dataUsageReported,
  dataUsageSubject,
  findDataLimit,
  maxUsageSpans,
  type StreamUsageKind,
  streamUsageKinds,
} from './data-usage.ts';
export { deviceApi } from './device-api-use-cases.ts';
export {
  commandSent,
  commandSentSubject,
  type DeviceCommand,
  type DeviceCommandOf,
  type DeviceResponse,
  deviceCommandSubject,
  type Outcome,
} from './device-command.ts';
export { DeviceCommandClient } from './device-command-client.ts';
export { DeviceCommandServer, type IncomingCommand } from './device-command-server.ts';
export { commandQueued, fenceSession, findDevice, gatewayFenceSubject } from './device-requests.ts';
export { DurableConsumer, type JetStreamMessage, RetryLater } from './durable-consumer.ts';
export { JetStreamPublisher } from './jetstream-publisher.ts';
export {
  type AttachmentsRequested,
  attachmentsRequested,
  attachmentsRequestedSubject,
  createPreview,
  expectAttachments,
  type MediaPreview,
  type MediaStored,
  mediaFileSources,
  mediaStored,
  mediaStoredSubject,
  removeMediaFile,
} from './media-files.ts';
export {
  deliveryDue,
  deliveryDueSubject,
  fleetChanged,
  type LiveEvent,
  type LiveEvents,
  type LiveEventType,
  liveEvents,
  liveEventTypes,
  liveSubject,
  type NotificationRaised,
  notificationRaised,
  notificationSubject,
  notifyWebhookOwner,
  sessionChanged,
  unassignedDeviceSeen,
  webhookRequests,
} from './notification-events.ts';
export { OrderedReader, type StreamMessage } from './ordered-reader.ts';
export {
  authorizePartnerCommand,
  findPartnerChannel,
  partnerCodes,
  partnerCommandNumbers,
  queuePartnerCommand,
  sendPartnerCommand,
  verifyPartner,
} from './partner-requests.ts';
export {
  appendPartnerReport,
  type PartnerHeartbeat,
  type PartnerPosition,
  type PartnerReport,
  parsePartnerReport,
} from './partner-telemetry.ts';
export { pingService, servePing } from './ping.ts';
export { publishToStream } from './publish-to-stream.ts';
export {
  type ConsumerPosition,
  deleteStream,
  listConsumerPositions,
  listStreams,
  restoreStream,
  type StoredStream,
  startSnapshot,
} from './stream-backup.ts';
export {
  mediaControl,
  mediaControlSubject,
  type PlaybackProgress,
  playbackProgress,
  queryStream,
  type StreamChanged,
  type StreamStopReason,
  stopReasonTrailer,
  streamChanged,
  streamPositionTrailer,
  streamStatusEvent,
  switchStream,
  talkTaken,
} from './stream-events.ts';
export { ensureStreams, type StreamConfig, streamCreatedAt, streamEnv, toStreamOptions } from './streams.ts';
export {
  eventHeaders,
  eventSubject,
  maxBatchBytes,
  readTelemetryBatch,
  TelemetryBatch,
  type TelemetryReport,
  telemetryPartition,
  telemetrySubject,
} from './telemetry.ts';
export { parseTerminalEvent, type TerminalEvent } from './terminal-event.ts';
export {
  grantUpload,
  locateClip,
  mp4Changed,
  mp4Requested,
  mp4Subject,
  removeUploadFiles,
  uploadChanged,
  uploadRevoked,
  uploadSubject,
} from './upload-requests.ts';
export { callUseCase, serveUseCase } from './use-case.ts';
export {
  authorizeVideo,
  guestChannels,
  type KnownVideoCaller,
  type SessionCredentials,
  type VideoAccess,
  type VideoRight,
  verifySession,
} from './video-access.ts';
export { broadcastVoice, decodeVoice } from './voice-requests.ts';
