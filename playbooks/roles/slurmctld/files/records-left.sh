# Wait until the controller that serves has sent its records of jobs to slurmdbd. Prints how many are left and returns 3, if it has some at the end.
# Nobody serves: nothing to wait for. `sdiag` alone can't say that, as it goes on asking for longer than one look may take.
left=
for _ in $(seq "$ATTEMPTS"); do
    case $(timeout 30 scontrol ping) in *" is UP"*) ;; *) exit 0 ;; esac
    if said=$(timeout 5 sdiag); then
        left=$(printf '%s\n' "$said" | sed -n 's/^[[:space:]]*DBD Agent queue size:[[:space:]]*//p')
        [ "${left:-0}" != 0 ] || exit 0
    fi
    sleep 2
done
# One that never answered serves nobody either.
[ -z "$left" ] || { echo "$left"; exit 3; }
