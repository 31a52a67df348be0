import { Button, Group, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type FormEvent, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../../common/fleet/folder-tree.ts';
import type { Group as GroupData } from '../../../common/fleet/vehicle.ts';
import { changedFields } from '../../../common/forms/changed-fields.ts';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { useFormErrors } from '../../../common/forms/use-form-errors.ts';
import { useLeaveWarning } from '../../../common/forms/use-leave-warning.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { type GroupForm, possibleParents, toBody, toForm } from '../model.ts';
import { useSaveGroup } from '../queries.ts';
import { GroupConflict } from './group-conflict.tsx';
import { GroupFields } from './group-fields.tsx';

interface GroupRecordProps {
  readonly group: GroupData;
  readonly groups: readonly NamedGroup[];
}

/** The form of a group: its name, its place in the tree, its geofences and drivers. */
export function GroupRecord({ group, groups }: GroupRecordProps) {
  const { t } = useTranslation('groups');
  const { form, base, isChanged, isSaved, saving, saveOver, load } = useGroupForm(group);
  const { save, stored, discard } = saving;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    saveOver(base.version);
  };
  const hasFieldFault = Object.keys(toFieldErrors(save.error)).length > 0;
  return (
    <form onSubmit={submit} aria-label={t('record')} noValidate className="groups-form">
      <h3>{t('record')}</h3>
      <GroupFields form={form} parents={possibleParents(groups, group.id)} />
      {stored === null && save.isError && !hasFieldFault ? <Failure error={save.error} /> : null}
      {stored === null ? null : (
        <GroupConflict
          base={base}
          mine={form.values}
          stored={stored}
          groups={groups}
          isSaving={save.isPending}
          onKeepMine={() => saveOver(stored.version)}
          onTakeTheirs={() => {
            load(stored);
            discard();
          }}
        />
      )}
      <Group gap="sm">
        <Button type="submit" disabled={!isChanged} loading={save.isPending}>
          {t('common:action.save')}
        </Button>
        {isSaved && !isChanged ? <Text role="status">{t('common:form.saved')}</Text> : null}
      </Group>
    </form>
  );
}

/** Returns the form of a group with what saves it. */
function useGroupForm(group: GroupData) {
  const [base, setBase] = useState(group);
  const [isSaved, setIsSaved] = useState(false);
  const findErrors = useFormErrors('updateVehicleGroup');
  const form = useForm<GroupForm>({ initialValues: toForm(group) });
  const baseBody = toBody(toForm(base));
  const change = changedFields(baseBody, toBody(form.values));
  const isChanged = Object.keys(change).length > 0;
  const load = (record: GroupData): void => {
    setBase(record);
    form.setValues(toForm(record));
  };
  const saving = useSaveGroup(group.id, (record) => {
    load(record);
    setIsSaved(true);
  });
  useEffect(() => {
    // A move in the tree writes another version; without changes of the form it is no conflict.
    if (!isChanged && group.version > base.version) load(group);
  }, [group]);
  useLeaveWarning(isChanged && !saving.save.isPending);
  const saveOver = (version: number): void => {
    setIsSaved(false);
    const errors = findErrors(change);
    form.setErrors(errors);
    if (Object.keys(errors).length > 0) return;
    saving.save.mutate({ body: change, version }, { onError: (error) => form.setErrors(toFieldErrors(error)) });
  };
  return { form, base, isChanged, isSaved, saving, saveOver, load };
}
