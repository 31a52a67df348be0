import { Group, NativeSelect, SegmentedControl } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { downloadsPerPage } from '../../common/downloads/queries.ts';
import { useVehicles } from '../../common/fleet/queries.ts';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { Pages } from '../../common/ui/pages.tsx';
import { Empty } from '../../common/ui/states.tsx';
import { Clips } from './parts/clips.tsx';
import { Files } from './parts/files.tsx';
import { filesPerPage } from './queries.ts';
import { downloadStatuses, type MediaSearch, mediaKinds } from './search.ts';
import './media.css';

const mediaRoute = getRouteApi('/app/media');
const vehicleRoute = getRouteApi('/app/vehicles/$vehicleId/media');

/** Shows all clips, pictures and videos that the user may see. */
export function MediaPage() {
  const search = mediaRoute.useSearch();
  const navigate = mediaRoute.useNavigate();
  return <MediaContent search={search} onChange={(next) => void navigate({ search: next, replace: true })} />;
}

/** Shows the files of one vehicle. */
export function VehicleMediaPage() {
  const vehicle = Number(vehicleRoute.useParams().vehicleId);
  const search = vehicleRoute.useSearch();
  const navigate = vehicleRoute.useNavigate();
  return (
    <MediaContent
      isOfVehicle
      search={{ ...search, vehicle }}
      onChange={({ vehicle: _vehicle, ...next }) => void navigate({ search: next, replace: true })}
    />
  );
}

interface MediaContentProps {
  readonly search: MediaSearch;
  readonly isOfVehicle?: boolean;
  readonly onChange: (search: MediaSearch) => void;
}

function MediaContent({ search, isOfVehicle = false, onChange }: MediaContentProps) {
  const { t } = useTranslation('media');
  const can = useCan();
  if (!can('video')) return <NoPermission />;
  const { kind = 'clips', vehicle, page = 1 } = search;
  const change = (next: { [Key in keyof MediaSearch]: MediaSearch[Key] | undefined }): void => {
    const merged = Object.entries({ ...search, page: undefined, ...next }).filter(([, value]) => value !== undefined);
    onChange(Object.fromEntries(merged));
  };
  const pages = (total: number) => (
    <Pages
      page={page}
      total={total}
      pageSize={kind === 'clips' ? downloadsPerPage : filesPerPage}
      onChange={(next) => change({ page: next === 1 ? undefined : next })}
    />
  );
  return (
    <div className="page">
      <h1>{t('title')}</h1>
      <Filters search={search} isOfVehicle={isOfVehicle} onChange={change} />
      {kind === 'clips' ? (
        <Clips search={search} renderPages={pages} />
      ) : vehicle === undefined ? (
        <Empty title={t('chooseVehicle')} />
      ) : (
        <Files vehicleId={vehicle} kind={kind === 'pictures' ? 'image' : 'video'} page={page} renderPages={pages} />
      )}
    </div>
  );
}

interface FiltersProps {
  readonly search: MediaSearch;
  readonly isOfVehicle: boolean;
  readonly onChange: (next: { [Key in keyof MediaSearch]: MediaSearch[Key] | undefined }) => void;
}

function Filters({ search, isOfVehicle, onChange }: FiltersProps) {
  const { t } = useTranslation('media');
  const vehicles = useVehicles();
  const { kind = 'clips', vehicle, status } = search;
  return (
    <Group gap="sm" mb="md" align="end">
      <SegmentedControl
        size="xs"
        aria-label={t('kind')}
        value={kind}
        data={mediaKinds.map((value) => ({ value, label: t(`kinds.${value}`) }))}
        onChange={(value) => onChange({ kind: value === 'clips' ? undefined : value })}
      />
      {isOfVehicle ? null : (
        <NativeSelect
          size="xs"
          label={t('vehicle')}
          value={vehicle === undefined ? '' : String(vehicle)}
          data={[
            { value: '', label: t('allVehicles') },
            ...(vehicles.data ?? []).map(({ id, vehicle_no: label }) => ({ value: String(id), label })),
          ]}
          onChange={({ currentTarget: { value } }) => onChange({ vehicle: value === '' ? undefined : Number(value) })}
        />
      )}
      {kind === 'clips' ? (
        <NativeSelect
          size="xs"
          label={t('status')}
          value={status ?? ''}
          data={[
            { value: '', label: t('allStatuses') },
            ...downloadStatuses.map((value) => ({ value, label: t(`common:download.status.${value}`) })),
          ]}
          onChange={({ currentTarget: { value } }) =>
            onChange({ status: value === '' ? undefined : (value as (typeof downloadStatuses)[number]) })
          }
        />
      ) : null}
    </Group>
  );
}
