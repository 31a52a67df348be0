export { type AccessUnit, splitAccessUnits } from './access-units.ts';
export { type DemuxedTag, FlvDemuxer, flvToAnnexB } from './flv-demuxer.ts';
