import { getRouteApi } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../common/fleet/queries.ts';
import { useFolders } from '../../common/fleet/use-folders.ts';
import { PlacesLayout } from '../../common/places/places-layout.tsx';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { Failure, Loading } from '../../common/ui/states.tsx';
import { ungroupedVehicles } from './model.ts';
import { GroupPanel } from './parts/group-panel.tsx';
import { GroupTree } from './parts/group-tree.tsx';
import { GroupVehicles } from './parts/group-vehicles.tsx';
import { MoveStatus } from './parts/move-status.tsx';
import { NewGroup } from './parts/new-group.tsx';
import { useMoves } from './use-moves.ts';
import './groups.css';

const route = getRouteApi('/app/groups/{-$groupId}');

/** Shows the tree of groups beside the vehicles and the record of one; without one, the vehicles in no group. */
export function GroupsPage() {
  const { t } = useTranslation('groups');
  const { groupId } = route.useParams();
  const navigate = route.useNavigate();
  const can = useCan();
  const { query, groups } = useFolders();
  const vehicles = useVehicles();
  const moves = useMoves(groups);
  const selectedId = groupId === undefined ? null : Number(groupId);
  const open = (id: number | null): void =>
    void navigate({ params: { groupId: id === null ? undefined : String(id) } });
  if (!can('fleet')) return <NoPermission />;
  const failed = [query, vehicles].find(({ isError }) => isError);
  if (failed !== undefined) return <Failure error={failed.error} onRetry={() => void failed.refetch()} />;
  if (query.isPending || vehicles.data === undefined) return <Loading />;
  const ungrouped = ungroupedVehicles(vehicles.data, groups);
  return (
    <PlacesLayout
      title={t('title')}
      main={
        <section className="groups-main" aria-label={t('content')} data-open={selectedId !== null}>
          <MoveStatus moves={moves} />
          {selectedId === null ? (
            <>
              <h2>{t('ungrouped')}</h2>
              <GroupVehicles groupId={null} vehicles={ungrouped} all={vehicles.data} groups={groups} moves={moves} />
            </>
          ) : (
            <GroupPanel
              key={selectedId}
              id={selectedId}
              groups={groups}
              vehicles={vehicles.data}
              moves={moves}
              onClose={() => open(null)}
            />
          )}
        </section>
      }
    >
      <NewGroup groups={groups} parentId={selectedId} onCreated={open} />
      <GroupTree
        groups={groups}
        selectedId={selectedId}
        ungroupedCount={ungrouped.length}
        onDrop={moves.drop(selectedId)}
      />
    </PlacesLayout>
  );
}
