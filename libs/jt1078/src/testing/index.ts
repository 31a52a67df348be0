export { type AccessUnit, splitAccessUnits } from './access-units.ts';
export { type DemuxedTag, demuxFlv, FlvDemuxer, flvToAnnexB } from './flv-demuxer.ts';
