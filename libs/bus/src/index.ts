export { headers } from 'nats';
export { type DeviceAsk, DeviceAsker } from './ask-device.ts';
export { type Bus, openBus } from './connection.ts';
export {
  type Announcement,
  announce,
  type BusContext,
  BusError,
  type CallOptions,
  type CommandName,
  type Contract,
  call,
  decodeJson,
  defineAnnouncement,
  defineRequest,
  encodeJson,
  headerNames,
  listenFor,
  serve,
} from './contract.ts';
export {
  type ClassifiedCommand,
  defaultCommandLevel,
  isCriticalCommand,
  levelAllows,
  type PartnerCommandLevel,
  partnerCommandLevels,
} from './critical-commands.ts';
export {
  commandSent,
  commandSentSubject,
  type DeviceAnswer,
  type DeviceCommand,
  type DeviceCommandOf,
  deviceCommandSubject,
  type Outcome,
} from './device-command.ts';
export {
  type AttachmentsWanted,
  attachmentsWanted,
  attachmentsWantedSubject,
  expectAttachments,
  type MediaStored,
  mediaFileKinds,
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
  sessionChanged,
  tellOfWebhook,
  webhookRequests,
} from './notification-events.ts';
export {
  admitPartnerCommand,
  askPartner,
  findPartnerChannel,
  type PartnerOutcome,
  partnerCodes,
  partnerCommandNumbers,
  queuePartnerCommand,
  verifyPartner,
} from './partner-requests.ts';
export {
  appendPartnerReport,
  type PartnerHeartbeat,
  type PartnerPosition,
  type PartnerReport,
  readPartnerReport,
} from './partner-telemetry.ts';
export { pingRequest, pingService, servePing } from './ping.ts';
export {
  accessChanged,
  commandQueued,
  connectionsDisplaced,
  type DeviceUse,
  deviceApi,
  deviceUsed,
  fenceSession,
  findDevice,
  gatewayFenceSubject,
  keyRevoked,
  mediaControl,
  mediaControlSubject,
  mediaStreamOn,
  notStreaming,
  revokeKey,
  type StreamChanged,
  streamChanged,
  verifyKey,
} from './requests.ts';
export { DeviceCommandServer, type IncomingCommand } from './serve-device.ts';
export { RetryLater, StoredConsumer, type StoredConsumerOptions, type StoredMessage } from './stored-consumer.ts';
export { readStoredEvent, type StoredEvent } from './stored-event.ts';
export { type LogMessage, StoredLog, type StoredLogOptions, streamMadeAt } from './stored-log.ts';
export { StoredPublisher, type StoredPublisherOptions } from './stored-publisher.ts';
export { ensureStreams } from './streams.ts';
export {
  eventHeaders,
  eventSubject,
  maxBatchBytes,
  partitionOf,
  readTelemetryBatch,
  TelemetryBatch,
  type TelemetryReport,
  telemetrySubject,
} from './telemetry.ts';
export {
  clipSource,
  grantUpload,
  removeUploadFiles,
  uploadChanged,
  uploadRevoked,
  uploadSubject,
} from './upload-requests.ts';
export { callUseCase, defineUseCase, serveUseCase } from './use-case.ts';
