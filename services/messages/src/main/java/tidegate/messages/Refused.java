package tidegate.messages;

/** A message that is not accepted, and why. */
public final class Refused extends Exception {
    public Refused(String why) {
        super(why);
    }

    public Refused(String why, Throwable cause) {
        super(why + ": " + cause.getMessage(), cause);
    }
}
